defmodule Mix.Tasks.Mote.Demo do
  @shortdoc "Shows what Mote can do on this computer"

  @moduledoc """
  Runs the fork bomb for growing depths, beside BEAM processes as far as they go, and then builds 33,554,431 actors
  that are alive at once and sends one message through all of them.

      mix mote.demo
      mix mote.demo --depth 20 --beam-depth 18 --alive 10_000_000

  It takes about a minute and, at its peak, about 1.5 GB of memory for the actors. The BEAM's part takes more the
  further it goes (3 KB for each process), and stops in time.

  ## Options

    * `--depth`: the greatest depth (24);
    * `--beam-depth`: the greatest depth for BEAM processes (default: 17, and further while it is quick enough);
    * `--alive`: how many actors at the end (33,554,431).

  Single figures are better measured by `mix mote.bench`.
  """

  use Mix.Task

  alias Mote.Bench.{Demo, Options, Run}

  @requirements ["app.config"]
  @switches [depth: :string, beam_depth: :string, alive: :string]
  @first_depth 5

  @impl true
  def run(argv) do
    case OptionParser.parse(argv, strict: @switches) do
      {given, [], []} ->
        given |> Enum.flat_map(&option/1) |> show()

      {_, [other | _], _} ->
        Mix.raise("mix mote.demo takes no #{inspect(other)} (see mix help mote.demo in bench/)")

      {_, _, [{option, _} | _]} ->
        Mix.raise("no option or no value: #{option} (see mix help mote.demo in bench/)")
    end
  end

  defp show(opts) do
    Demo.run(opts)
  rescue
    error in Run.Error -> Mix.raise(Exception.message(error))
  end

  defp option({:depth, text}), do: [depths: @first_depth..max(number(:depth, text), @first_depth)]
  defp option({:beam_depth, text}), do: [beam_depth: number(:"beam-depth", text)]
  defp option({:alive, text}), do: [alive: number(:alive, text)]

  defp number(name, text) do
    case Options.sizes(text) do
      {:ok, [number]} -> number
      _ -> Mix.raise("--#{name} takes a number, got: #{inspect(text)}")
    end
  end
end
