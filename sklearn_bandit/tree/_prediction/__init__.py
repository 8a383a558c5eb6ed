"""Prediction by packed trees."""
