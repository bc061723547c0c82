"""`squadron doctor`: is this installation safe and complete?"""
