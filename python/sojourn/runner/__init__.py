"""The runner: points of a study, their execution, and the folder that keeps them."""
