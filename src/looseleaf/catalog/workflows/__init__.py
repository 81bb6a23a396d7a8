"""How operations reach workflows: pipelines, flows and jobs of the agent that is meant."""
