"""What a trained model answers, and why."""
