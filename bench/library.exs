# Functions of Erlang's library in a turn, of native code, and on the BEAM: mix run bench/library.exs
#
# Those without a place in `Mote.Prelude.Table` are had from their own definitions. One that is written by hand stays so where it
# takes at most two thirds of the time: to compare, put it into the table, or take it out.

calls = [
  queue_in: ":queue.to_list(Enum.reduce(list, :queue.new(), fn x, q -> :queue.in(x, q) end))",
  queue_out: "Enum.reduce(list, :queue.from_list(list), fn x, q -> :queue.in(x, elem(:queue.out(q), 1)) end)",
  queue_from_list: ":queue.from_list(list)",
  delete: ":lists.delete(999, list)",
  flatten: ":lists.flatten(lists)",
  keydelete: ":lists.keydelete(999, 1, pairs)",
  keystore: ":lists.keystore(-1, 1, pairs, {1, 2})",
  last: ":lists.last(list)",
  nth: ":lists.nth(900, list)",
  seq: ":lists.seq(1, 1000)",
  split: ":lists.split(500, list)",
  sublist: ":lists.sublist(list, 900)",
  sum: ":lists.sum(list)",
  unzip: ":lists.unzip(pairs)",
  usort: ":lists.usort(list)",
  zip: ":lists.zip(list, list)",
  gb_trees: "Enum.reduce(list, :gb_trees.empty(), fn x, t -> :gb_trees.insert(x, x, t) end)",
  orddict: "Enum.reduce(0..99, [], fn x, d -> :orddict.store(x, x, d) end)",
  date_add: "Date.add(~D[2024-02-20], length(list))",
  date_iso: "Date.to_iso8601(Date.add(~D[2024-02-20], length(list)))",
  version: "Version.compare(\"1.2.3\", \"1.2.4-rc.1\")"
]

functions =
  for {name, call} <- calls,
      do: "defpure #{name}({list, pairs, lists}), do: {length(list), length(pairs), length(lists), #{call}}\n"

clauses = for {name, _} <- calls, do: "{customer, {:#{name}, k}} -> send customer, repeat_#{name}(k, lists)\n"

repeats =
  for {name, _} <- calls,
      do:
        "defpure repeat_#{name}(k, lists), do: Enum.reduce(1..k//1, 0, fn _, n -> n + tuple_size(#{name}(lists)) end)\n"

Code.compile_string("""
defmodule Mote.Bench.Library do
  use Mote.Behaviour
  #{functions}
  #{repeats}
  defactor bench(lists) do
    #{clauses}
  end
end
""")

list = Enum.to_list(0..999)
lists = {list, Enum.map(list, &{&1, &1}), Enum.chunk_every(list, 10)}
{:ok, machine} = Mote.start_link(tier: :native, fuel: 2_000_000_000)
bench = Mote.create(machine, apply(Mote.Bench.Library, :bench, [lists]))

# Until all of it is native.
for _ <- 1..2, {name, _} <- calls, do: Mote.ask!(bench, {name, 20}, timeout: 60_000)
Process.sleep(3_000)

least = fn fun ->
  fun.(20)
  k = 50 |> fun.() |> max(0.2) |> then(&trunc(20_000 / &1)) |> max(20) |> min(5_000)
  Enum.min(for _ <- 1..9, do: fun.(k))
end

timed = fn k, fun -> fun |> :timer.tc() |> elem(0) |> Kernel./(k) end

IO.puts("least of nine, µs: in a turn, on the BEAM")

for {name, _} <- calls do
  mote = least.(fn k -> timed.(k, fn -> Mote.ask!(bench, {name, k}, timeout: 60_000) end) end)
  beam = least.(fn k -> timed.(k, fn -> apply(Mote.Bench.Library, :"repeat_#{name}", [k, lists]) end) end)
  IO.puts("#{String.pad_trailing("#{name}", 16)} #{Float.round(mote, 2)} #{Float.round(beam, 2)}")
end
