# Workers of Gradus: processes that answer its calls over stdin and stdout. `python -m gradus_worker.NAME` runs one.
