defmodule Mote.Measure.Median do
  @moduledoc """
  Asks a service several times, one after the other, and answers with the statistics of its answers.

      iex> defmodule Doc.Falling do
      ...>   use Mote.Behaviour, errors: :undefined
      ...>   defactor falling(n) do
      ...>     {customer, _} ->
      ...>       send customer, n
      ...>       become falling(n - 1)
      ...>   end
      ...> end
      iex> {:ok, machine} = Mote.start_link()
      iex> falling = Mote.create(machine, Doc.Falling.falling(10))
      iex> median = Mote.create(machine, Mote.Measure.Median.median(falling, 4))
      iex> %{median: 8.5, min: 7, max: 10, mad: 1.0, samples: [10, 9, 8, 7]} = Mote.ask!(median, :go)

  The request is passed on as it is. The answer is the map of `Mote.Measure.Statistics`, with the answers themselves as
  `samples`, in their order. It is `:undefined` when one of them is not a number, or when it is to ask less
  than once.
  """
  use Mote.Behaviour, errors: :undefined
  alias Mote.Measure.Statistics

  @runs 3

  @doc "Three times."
  @spec median(term) :: Mote.Behaviour.t()
  def median(service), do: median(service, @runs)

  @doc "Answers `{customer, request}` with the statistics of `n` answers to the request."
  defactor median(service, n) do
    {customer, request} when is_integer(n) and n > 0 ->
      send service, {create(collector(customer, service, request, n, [])), request}

    {customer, _request} ->
      send customer, :undefined
  end

  @doc false
  defactor collector(customer, service, request, left, samples) do
    sample when left > 1 ->
      become collector(customer, service, request, left - 1, [sample | samples])
      send service, {self(), request}

    sample ->
      samples = Enum.reverse([sample | samples])
      send customer, Map.put(Statistics.of(samples), :samples, samples)
      become sink()
  end
end
