# Reads a folder of event files with TensorBoard's own reader.
#
# usage: python read_tensorboard.py FOLDER
# stdout: {"metrics": {tag: [[step, value], …]}, "texts": {tag: [[step, text], …]}, "hparams": {name: value}, "status": its end in the tab HParams}
import json
import sys

from google.protobuf.json_format import MessageToDict
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import api_pb2, metadata

events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "tensors": 0})
events.Reload()
tags = events.Tags()
plugin = events.PluginTagToContent("hparams")
start = plugin.get(metadata.SESSION_START_INFO_TAG)
end = plugin.get(metadata.SESSION_END_INFO_TAG)
hparams = metadata.parse_session_start_info_plugin_data(start).hparams if start else {}
status = metadata.parse_session_end_info_plugin_data(end).status if end else api_pb2.STATUS_UNKNOWN
json.dump(
    {
        "metrics": {tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in tags["scalars"]},
        "texts": {
            tag: [[e.step, e.tensor_proto.string_val[0].decode()] for e in events.Tensors(tag)]
            for tag in tags["tensors"]
            if events.SummaryMetadata(tag).plugin_data.plugin_name == "text"
        },
        "hparams": {name: MessageToDict(value) for name, value in hparams.items()},
        "status": api_pb2.Status.Name(status),
    },
    sys.stdout,
)
