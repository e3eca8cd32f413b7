defmodule Mote.Bench.Programs.Collecting do
  # What collecting costs: the actors of `churn` with collection and without. Without it all of them stay, so there are
  # fewer: some 20 bytes each.
  @moduledoc false

  alias Mote.Bench.Programs.Churn

  use Mote.Bench.Program,
    title: "n actors that live for a turn, with collection (mote) and without (off)",
    param: :n,
    defaults: [20_000_000],
    small: 2_000,
    metric: :ns_per_actor,
    count: &Churn.count/1,
    expected: &Churn.expected/1,
    machines: [mote: [main: [threads: 1]], off: [main: [threads: 1]]],
    # More than any machine has: never due.
    options: [off: [gc: [min: 1_000_000_000_000_000]]],
    # Its memory would grow with each run.
    anew: [:off],
    ratio: {:ratio_off_vs_mote, :off, :mote}

  @impl true
  defdelegate mote(machine, n), to: Churn
end
