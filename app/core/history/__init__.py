"""Recorded runs: replayed under any limits, and limits suggested from them."""
