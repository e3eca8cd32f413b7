# mix run .github/check.exs: what a release is checked with. The libraries load, native code runs, and a plot is drawn.
defmodule Check do
  use Mote.Behaviour

  defactor node(parent) do
    0 -> send parent, :done
    depth when depth > 0 ->
      left = create node(self())
      right = create node(self())
      send left, depth - 1
      send right, depth - 1
      become collect(parent, 2)
  end

  defactor collect(parent, n) do
    :done when n > 1 -> become collect(parent, n - 1)
    :done -> send parent, :done
  end
end

{:ok, machine} = Mote.start_link(sponsors: [main: [threads: 2]])
machine |> Mote.create(Check.node(self())) |> Mote.send(16)

receive do
  :done -> IO.inspect(Mote.info(machine).native, label: "131,071 actors; native code")
after
  60_000 -> raise "the actors were not done within a minute"
end

path = Path.join(System.tmp_dir!(), "check.svg")
:ok = [:param, :value] |> Mote.Measure.Table.new([[1, 1], [2, 4]]) |> Mote.Measure.plot!(path)
IO.puts("a plot of #{File.stat!(path).size} bytes")
