# The worker that trains with TRL. Its calls are in __main__.py; src/backends/trl makes them.
