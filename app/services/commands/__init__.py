"""What people write or press: who may command, what is done, who is woken by an answer."""
