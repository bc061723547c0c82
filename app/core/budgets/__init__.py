"""Shared money: budgets and their windows, the ledger of reservations, rates of users."""
