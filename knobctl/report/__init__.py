"""What people and programs get to read: findings, changes, plans, arithmetic."""
