"""What a model is sent: the messages of a prompt variant for a sample, and the same once more from what has landed."""
