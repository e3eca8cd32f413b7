defmodule Mote.Bench.Cores do
  # Whether the cores of this computer are even: equally fast, and as fast together as alone.
  #
  # Those of a virtual computer are halves of real ones. Two of them may be the same real one for a while, or have a stranger
  # on its other half, and no counter says so. What two threads gain over one is a question about two cores then, not about
  # threads: on uneven ones the slower decides when both are done. So a caller that asks for it has the cores looked at before, between
  # and after the runs of a round, by work that is always the same (native/mote_baseline/src/cores.rs) and knows nothing of
  # the round.
  @moduledoc false

  alias Mote.Bench.Rust

  @micros 1_000
  # Less than this part of the greatest speed is uneven: two looks at even ones differ by up to a tenth.
  @even 0.85

  @doc "Looks at them, for a few milliseconds. Needs what `Mote.Bench.Rust.build/0` builds."
  @spec even?() :: boolean
  def even? do
    {_ns, _cpu_ns, evenness} = Rust.run("cores", @micros, 1)
    evenness >= @even
  end

  @doc """
  What each of `runs` gives, one after the other, on cores that are even before, between and after them; and whether
  they were.

  Waits for that, and begins anew where they were not, for `patience` milliseconds in all; then what they gave counts,
  whatever the cores were. Returns what is left of the patience, too.
  """
  @spec on_even([(... -> result)], patience, (... -> boolean)) :: {[result], even? :: boolean, patience}
        when result: term, patience: non_neg_integer
  def on_even(runs, patience, even? \\ &even?/0) do
    start = System.monotonic_time(:millisecond)
    left = fn -> max(start + patience - System.monotonic_time(:millisecond), 0) end
    before? = wait(even?, left)
    # What a round itself takes is not waiting.
    then_left = left.()

    case run_all(runs, before?, even?, left, []) do
      {:ok, results, even?} -> {results, even?, if(even?, do: then_left, else: 0)}
      :again -> on_even(runs, left.(), even?)
    end
  end

  defp run_all([], all_even?, _even?, _left, results), do: {:ok, Enum.reverse(results), all_even?}

  defp run_all([run | runs], all_even?, even?, left, results) do
    results = [run.() | results]

    cond do
      all_even? and even?.() -> run_all(runs, true, even?, left, results)
      left.() == 0 -> run_all(runs, false, even?, left, results)
      true -> :again
    end
  end

  defp wait(even?, left), do: even?.() or (left.() > 0 and wait(even?, left))
end
