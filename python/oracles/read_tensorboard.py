# What TensorBoard's own reader finds in a folder of event files.
#
# usage: python read_tensorboard.py FOLDER
# stdout: {"metrics": {tag: [[step, value], …]}, "texts": {tag: [[step, text], …]}}
import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "tensors": 0})
events.Reload()
tags = events.Tags()
json.dump(
    {
        "metrics": {tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in tags["scalars"]},
        "texts": {
            tag: [[e.step, e.tensor_proto.string_val[0].decode()] for e in events.Tensors(tag)]
            for tag in tags["tensors"]
            if events.SummaryMetadata(tag).plugin_data.plugin_name == "text"
        },
    },
    sys.stdout,
)
