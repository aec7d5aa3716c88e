"""The door for agents: the bot's API as tools over the Model Context Protocol."""
