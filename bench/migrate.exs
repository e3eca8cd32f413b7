# Going on from an image whose actors all become others: `mix run bench/migrate.exs [actors] [rounds]`.
#
# Each round restores the image without and with `:migrate`, one after the other; the medians are printed, and how much more memory the
# system had given to the process at most. Each actor has a map and the address of the one before.
version = fn captures, first ->
  """
  defmodule Migrated do
    use Mote.Behaviour

    defactor cart(#{captures}) do
      {customer, :all} -> send customer, {#{captures}}
    end

    defactor carts(last) do
      {:grow, 0} ->
        become carts(last)

      {:grow, n} ->
        send self(), {:grow, n - 1}
        become carts(create(cart(#{first})))
    end
  end
  """
end

[count, rounds] =
  for {at, default} <- [{0, "500000"}, {1, "5"}],
      do: String.to_integer(Enum.at(System.argv(), at, default))

path = Path.join(System.tmp_dir!(), "mote_migrate.image")
Logger.configure(level: :error)
Code.compiler_options(ignore_module_conflict: true)
[{module, _}] = Code.compile_string(version.("items, before", "%{n => 1}, last"))
{:ok, machine} = Mote.start_link()
last = Mote.create(machine, module.carts(nil))
Mote.send(last, {:grow, count})
:ok = Mote.drain(machine, :infinity)
{:ok, image} = Mote.save(machine, path, names: %{last: last})
Mote.stop(machine)
Code.compile_string(version.("items, before, discount", "%{n => 1}, last, 0"))

took = fn opts ->
  # Begins to look for the highest figure anew.
  File.write("/proc/self/clear_refs", "5")
  {microseconds, {:ok, machine}} = :timer.tc(fn -> Mote.start_link([image: path] ++ opts) end)
  [_, most] = Regex.run(~r/VmHWM:\s+(\d+)/, File.read!("/proc/self/status"))
  Mote.stop(machine)
  {microseconds, String.to_integer(most) / 1024}
end

migrate = fn
  {_, :cart, {items, before}} -> module.cart(items, before, 5)
  _ -> :keep
end

rows = for _ <- 1..rounds, do: {took.([]), took.(migrate: migrate)}
median = fn get -> rows |> Enum.map(get) |> Enum.sort() |> Enum.at(div(rounds, 2)) end
without = median.(fn {{time, _}, _} -> time end)
renewed = median.(fn {_, {time, _}} -> time end)
more = median.(fn {{_, low}, {_, high}} -> high - low end)

IO.puts(
  "#{image.actors} actors, #{Float.round(image.bytes / 1.0e6, 1)} MB: restored in #{div(without, 1000)} ms, with :migrate in " <>
    "#{div(renewed, 1000)} ms, #{Float.round((renewed - without) / image.actors, 2)} us an actor, #{Float.round(more, 1)} MB more memory"
)

File.rm!(path)
