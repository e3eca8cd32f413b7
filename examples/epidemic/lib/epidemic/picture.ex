defmodule Epidemic.Picture do
  @moduledoc """
  Draws runs as SVG: how many people are infectious on each day.

      iex> run = Epidemic.run(people: 1_000, days: 60)
      iex> svg = Epidemic.Picture.svg([{"no app", "#c33", run}], 1_000)
      iex> String.starts_with?(svg, "<svg") and svg =~ "no app"
      true
  """

  @width 640
  @height 260
  @left 50
  @bottom 30

  @doc "The curves of runs, each with a name and a colour, of so many people."
  @spec svg([{String.t(), String.t(), Epidemic.t()}], pos_integer) :: String.t()
  def svg(curves, people) do
    days = curves |> Enum.map(fn {_, _, run} -> length(run.days) end) |> Enum.max()
    most = curves |> Enum.flat_map(fn {_, _, run} -> Enum.map(run.days, & &1.infectious) end) |> Enum.max()
    scale = {days, max(most, 1)}
    percent = Float.round(100 * most / people, 1)

    """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 #{@width} #{@height}" font-family="sans-serif" font-size="12">
    <rect width="#{@width}" height="#{@height}" fill="#fff"/>
    <path d="M#{@left} 10V#{@height - @bottom}H#{@width - 10}" fill="none" stroke="#888"/>
    <text x="#{@left - 6}" y="18" text-anchor="end">#{percent} %</text>
    <text x="#{@left - 6}" y="#{@height - @bottom}" text-anchor="end">0</text>
    <text x="#{@width - 10}" y="#{@height - 10}" text-anchor="end">day #{days}</text>
    #{curves |> Enum.with_index() |> Enum.map_join("\n", &curve(&1, scale))}
    </svg>
    """
  end

  defp curve({{name, colour, run}, n}, scale) do
    points = Enum.map_join(run.days, " ", &point(&1, scale))

    """
    <polyline points="#{points}" fill="none" stroke="#{colour}" stroke-width="2"/>
    <text x="#{@left + 14}" y="#{28 + 18 * n}" fill="#{colour}">#{name}: #{List.last(run.days).recovered} people in all</text>\
    """
  end

  defp point(day, {days, most}) do
    x = @left + div((@width - @left - 10) * day.day, days)
    y = @height - @bottom - div((@height - @bottom - 10) * day.infectious, most)
    "#{x},#{y}"
  end
end
