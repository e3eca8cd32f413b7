# The picture of the README: mix run picture.exs
IO.puts(Events.Picture.text(Events.Queues.jackson(), copies: 100, seconds: 10_000, seed: 1))
