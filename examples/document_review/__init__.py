"""Document review: long jobs that let a model read, within a deadline, at a cost that is known later."""
