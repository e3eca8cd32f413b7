defmodule Mote.Measure.Prep do
  @moduledoc """
  Divides what a service answers: per actor, per leaf, per iteration.

      iex> defmodule Doc.Hundred do
      ...>   use Mote.Behaviour, errors: :undefined
      ...>   defactor hundred do
      ...>     {customer, _} -> send customer, 100
      ...>   end
      ...> end
      iex> {:ok, machine} = Mote.start_link()
      iex> hundred = Mote.create(machine, Doc.Hundred.hundred())
      iex> Mote.ask!(Mote.create(machine, Mote.Measure.Prep.prep(hundred, 8)), :go)
      12.5
      iex> Mote.ask!(Mote.create(machine, Mote.Measure.Prep.prep(hundred, %{3 => 20})), 3)
      5.0

  By what is a number, or a map that has a number for each request. The answer is a number, a list of them or a map of
  statistics, of which the `count` stays as it is. Without a number to divide, or to divide by, it is `:undefined`.
  """
  use Mote.Behaviour, errors: :undefined

  @figures [:min, :max, :mean, :stdev, :median, :mad, :samples]

  @doc "Answers `{customer, request}` with the answer of the service to the request, divided."
  defactor prep(service, per) do
    {customer, request} -> send service, {create(divider(customer, count(per, request))), request}
  end

  @doc false
  defactor divider(customer, count) do
    answer ->
      send customer, divided(answer, count)
      become sink()
  end

  @doc false
  defpure count(per, request) when is_map(per), do: Map.get(per, request, :undefined)
  defpure count(per, _request), do: per

  @doc "A number, a list or a map of statistics, divided by a count."
  @spec divided(number | [number] | map, number | :undefined) :: float | [float] | map | :undefined
  defpure divided(answer, count) when is_map(answer),
    do: Enum.reduce(@figures, answer, fn figure, answer -> figure(answer, figure, count) end)

  defpure divided(answer, count) when is_list(answer), do: Enum.map(answer, fn number -> number / count end)
  defpure divided(answer, count), do: answer / count

  @doc false
  defpure figure(answer, figure, count) do
    case Map.fetch(answer, figure) do
      {:ok, value} -> Map.put(answer, figure, divided(value, count))
      :error -> answer
    end
  end
end
