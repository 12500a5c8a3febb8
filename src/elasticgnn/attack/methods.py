"""The attacks by name, and what each goes through."""

GRADIENT_METHODS = ("prbcd", "grbcd", "pgd", "lrbcd")  # through the gradient of a trained victim
BLOCK_METHODS = ("prbcd", "grbcd", "lrbcd")  # of these, on some pairs at a time
PREDICTION_METHODS = ("eva",)  # through a victim's predictions alone
SHARED_METHODS = ("metattack", "random", "dice")  # without a victim: one list of flips for all
VICTIM_METHODS = (*GRADIENT_METHODS, *PREDICTION_METHODS)
METHODS = (*SHARED_METHODS, *VICTIM_METHODS)
