defmodule Mote.Measure.Plotter do
  @moduledoc """
  Draws what a sweep measured, when an actor asks for it.

  What touches the world is a message to a BEAM process, and so is a file. `plotter(painter)` answers `{customer, {path,
  rows}}`, with rows as `Mote.Measure.Sweep` answers them, when the painter, a process started with `start_link/1`, has
  drawn them: with `:ok`, or `{:error, message}`.

      iex> {:ok, painter} = Mote.Measure.Plotter.start_link(x: :log, title: "squares")
      iex> {:ok, machine} = Mote.start_link()
      iex> plotter = Mote.create(machine, Mote.Measure.Plotter.plotter(painter))
      iex> path = Path.join(System.tmp_dir!(), "squares.svg")
      iex> Mote.ask!(plotter, {path, [{2, :here, 4}, {3, :here, 9}]})
      :ok
      iex> File.rm!(path)
      :ok

  Options are those of `Mote.Measure.plot/3`, for all plots of the painter.
  """
  use Mote.Behaviour, errors: :undefined
  use GenServer

  alias Mote.Measure
  alias Mote.Measure.{Plot, Table}

  @doc "Answers `{customer, {path, rows}}` when they are drawn."
  defactor plotter(painter) do
    {customer, {path, rows}} -> send painter, {:draw, customer, path, rows}
  end

  @doc "Starts a painter. Raises `ArgumentError` for options that `Mote.Measure.plot/3` does not have."
  @spec start_link(keyword) :: GenServer.on_start()
  def start_link(opts \\ []) do
    Plot.options!(opts)
    GenServer.start_link(__MODULE__, opts)
  end

  @impl true
  def init(opts), do: {:ok, opts}

  @impl true
  def handle_info({:draw, customer, path, rows}, opts) do
    tell(customer, drawn(path, rows, opts))
    {:noreply, opts}
  end

  use Mote.Internal.Stray

  defp who(_opts), do: "painter #{inspect(self())}"

  # Something that is not a customer, or whose machine is down, gets no answer.
  defp tell(customer, answer) do
    Mote.send(customer, answer)
  rescue
    error in [Mote.Error, ArgumentError] -> {:error, error}
  end

  # A mistake in the rows, whatever it is, is the asker's: the painter goes on.
  defp drawn(path, rows, opts) do
    if not is_binary(path), do: raise(ArgumentError, "expected the path of a file, got: #{inspect(path)}")
    with {:error, error} <- Measure.plot(table(rows), path, opts), do: {:error, Exception.message(error)}
  rescue
    error -> {:error, Exception.message(error)}
  end

  defp table(rows) do
    if not (is_list(rows) and not List.improper?(rows) and Enum.all?(rows, &match?({_, _, _}, &1))),
      do: raise(ArgumentError, "expected rows {parameter, name, answer}, got: #{inspect(rows)}")

    rows = for {parameter, name, answer} <- rows, sample <- samples(answer), do: [parameter, name, sample]
    Table.new([:param, :series, :value], rows)
  end

  defp samples(%{samples: samples}), do: samples
  defp samples(number), do: [number]
end
