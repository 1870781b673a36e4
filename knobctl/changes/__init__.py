"""What an engine holds against what the files want: diff, plan, guards, apply."""
