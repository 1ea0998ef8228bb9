# Plays the environments of Prime Intellect's verifiers, whose harnesses call the model at an address of ours.
