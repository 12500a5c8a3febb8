"""The choice of lambda1 and lambda2, and estimates of the noise."""
