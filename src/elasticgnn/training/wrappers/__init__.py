"""Models made of other models: several as one, and with features of neighbours."""
