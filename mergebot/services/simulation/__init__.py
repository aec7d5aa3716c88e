"""The production planner on simulated time, beside policies to compare it with."""
