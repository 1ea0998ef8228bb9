# The worker that runs rewards and environments that users write in Python; it needs no packages.
