defmodule Events.Picture do
  @moduledoc "Draws how long customers stay at each station, beside what theory says."

  @width 50

  @doc "Runs a network, with the options of `Events.Queues.run/2`, and draws the result as text."
  @spec text(Events.Queues.network(), keyword) :: String.t()
  def text(network, opts) do
    stations = Events.Queues.run(network, opts)
    longest = stations |> Enum.flat_map(&[&1.mean, &1.theory]) |> Enum.max()

    stations
    |> Enum.with_index()
    |> Enum.map_join("\n", fn {station, n} ->
      bar = fn name, time ->
        size = round(@width * time / longest)
        String.pad_trailing(name, 10) <> String.duplicate("█", size) <> " #{round(time)} ms"
      end

      "station #{n}, #{station.customers} customers\n" <>
        bar.("measured", station.mean) <> "\n" <> bar.("theory", station.theory) <> "\n"
    end)
  end
end
