"""What a browser on this machine needs: the page, and the driver that draws into it."""
