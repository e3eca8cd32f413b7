# The picture of the README: mix run picture.exs
world = World.start(walkers: 3_000, seed: 1)
for _ <- 1..100, do: World.tick(world)
world |> World.watch() |> World.Picture.text() |> IO.puts()
