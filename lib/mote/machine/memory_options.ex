defmodule Mote.Machine.MemoryOptions do
  # The options about memory, checked: how much a machine may use, and how often it collects.
  @moduledoc false

  alias Mote.Machine.SponsorOptions

  # Bytes that the machine cannot count.
  @infinity 0xFFFFFFFFFFFFFFFF
  # What the allocators of a thread, and of all callers outside, take at least: two blocks each.
  @share 4 * 1024 * 1024

  @min 32 * 1024 * 1024
  @factor 2.0
  @most_factor 1.0e6

  @typedoc "Bytes between two collections at least, in proportion to what is live, and how to stress it."
  @type gc :: {pos_integer, float, :off | :standing | :running | :moving}

  @doc "Bytes that the machine may use; raises `ArgumentError`."
  @spec memory!(term, [SponsorOptions.t()]) :: pos_integer
  def memory!(:infinity, _sponsors), do: @infinity

  def memory!(bytes, sponsors) when is_integer(bytes) and bytes > 0 and bytes < @infinity do
    enough!(bytes, Enum.sum(for sponsor <- sponsors, do: elem(sponsor, 1)))
  end

  def memory!(other, _sponsors) do
    raise ArgumentError, "expected :memory to be a number of bytes or :infinity, got: #{inspect(other)}"
  end

  @doc "Returns the same bytes if they are enough for that many threads; raises `ArgumentError` otherwise."
  @spec enough!(pos_integer, non_neg_integer) :: pos_integer
  def enough!(bytes, threads) do
    least = @share * (1 + threads)

    if bytes < least do
      raise ArgumentError,
            "expected :memory to be at least #{least} bytes for a machine with these sponsors (4 MiB for each " <>
              "thread, and 4 MiB for actors that are created from outside), got: #{bytes}"
    end

    bytes
  end

  @doc "Returns twice as many bytes, as far as the machine can count."
  @spec twice(pos_integer) :: pos_integer
  def twice(bytes), do: min(2 * bytes, @infinity)

  @doc "When the machine collects; raises `ArgumentError`."
  @spec gc!(term) :: gc
  def gc!(opts) do
    unless Keyword.keyword?(opts), do: bad(":gc", "a keyword list of :min and :factor", opts)

    for {key, _} <- opts, key not in [:min, :factor] do
      raise ArgumentError, "unknown option #{inspect(key)} of :gc; there are :min and :factor"
    end

    {min!(Keyword.get(opts, :min, @min)), factor!(Keyword.get(opts, :factor, @factor)), stress()}
  end

  defp min!(bytes) when is_integer(bytes) and bytes > 0 and bytes < @infinity, do: bytes

  defp min!(other),
    do: bad(":min of :gc", "a number of bytes (allocated between two collections, at least)", other)

  defp factor!(factor) when is_number(factor) and factor >= 0 and factor <= @most_factor, do: factor * 1.0

  defp factor!(other) do
    what = "a number from 0 to a million (bytes allocated between two collections for each that is live)"
    bad(":factor of :gc", what, other)
  end

  # For tests: a collection at every opportunity, checked, and what is free is spoilt. It marks while threads stand still,
  # or beside their turns; or moves all cells while threads stand still.
  defp stress do
    case {Application.get_env(:mote, :gc_stress, false), System.get_env("MOTE_GC_STRESS", "0")} do
      {stress, variable} when stress == :concurrent or variable == "concurrent" -> :running
      {stress, variable} when stress == :moving or variable == "moving" -> :moving
      {false, variable} when variable in ["", "0"] -> :off
      _ -> :standing
    end
  end

  @spec bad(String.t(), String.t(), term) :: no_return
  defp bad(option, what, other) do
    raise ArgumentError, "expected #{option} to be #{what}, got: #{inspect(other)}"
  end
end
