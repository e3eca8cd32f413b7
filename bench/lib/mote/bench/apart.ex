defmodule Mote.Bench.Apart do
  # What programs have in common that have two trees grow: both on one thread, and each on a thread of its own. The two
  # share nothing and nothing moves between them, so their ratio is what the computer's cores give at that moment: what
  # the ratio of one sponsor with two threads is to be read by.
  #
  #     use Mote.Bench.Apart, title: "…", param: :depth, defaults: [20], small: 6, metric: :ns_per_actor
  @moduledoc false

  @options [
    expected: :done,
    machines: [together: [one: [threads: 1]], apart: [one: [threads: 1], two: [threads: 1]]],
    ratio: {:ratio_apart_vs_together, :apart, :together}
  ]

  @doc false
  defmacro __using__(opts) do
    quote do
      use Mote.Bench.Program, unquote(Macro.escape(@options) ++ opts)
    end
  end

  @doc """
  The stages of a run: two trees, whose roots are made by `node` and get that depth. What they answer goes to `judge`.
  """
  @spec stages(Mote.Machine.t(), (pid -> Mote.Behaviour.t()), pos_integer, (term -> :done | term)) ::
          Mote.Bench.Program.stages()
  def stages(machine, node, depth, judge) do
    sponsors = Mote.sponsors(machine)

    roots =
      for at <- 0..1, do: {Mote.create(machine, node.(self())), Enum.at(sponsors, rem(at, length(sponsors)))}

    [run: fn _ -> both(roots, depth, judge) end]
  end

  defp both(roots, depth, judge) do
    for {root, sponsor} <- roots, do: Mote.send(root, depth, sponsor: sponsor)
    answers = for _ <- roots, do: receive(do: (answer -> judge.(answer)))
    Enum.find(answers, :done, &(&1 != :done))
  end
end
