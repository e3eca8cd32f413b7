# Draws assets/epidemic.svg: mix run picture.exs
people = 100_000

curves =
  for {name, colour, app} <- [
        {"no app", "#c0392b", 0.0},
        {"six in ten have the app", "#d68910", 0.6},
        {"eight in ten", "#1e8449", 0.8}
      ] do
    {name, colour, Epidemic.run(people: people, days: 250, app: app, seed: 1)}
  end

File.write!("assets/epidemic.svg", Epidemic.Picture.svg(curves, people))
