# What the README shows: mix run run.exs
Cluster.Story.run()
