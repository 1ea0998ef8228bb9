# The names of TRL's settings, which are keys of configurations from there.
#
# usage: python trl_names.py
# stdout: {"version", "GRPOConfig": [names of fields], "ModelConfig": […], "GRPOTrainer": [names of parameters]}
import dataclasses
import inspect
import json
import sys
from importlib.metadata import version

from trl import GRPOConfig, GRPOTrainer, ModelConfig

names = {of.__name__: [field.name for field in dataclasses.fields(of)] for of in (GRPOConfig, ModelConfig)}
_, *parameters = inspect.signature(GRPOTrainer.__init__).parameters
json.dump({"version": version("trl"), **names, "GRPOTrainer": parameters}, sys.stdout)
