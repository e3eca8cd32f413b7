defmodule Mote.Measure do
  @moduledoc """
  Benchmarks behaviours of your own: varies a parameter, measures every point several times, and makes a table
  and a plot.

  What is measured is a *device*: a behaviour that answers `{customer, parameter}` when it is done, with anything.

      iex> defmodule Doc.Countdown do
      ...>   use Mote.Behaviour, errors: :undefined
      ...>   defactor countdown do
      ...>     {customer, 0} -> send customer, :done
      ...>     {customer, n} -> send self(), {customer, n - 1}
      ...>   end
      ...> end
      iex> table = Mote.Measure.sweep(Doc.Countdown.countdown(), param: [10, 100], sponsor: :single, progress: false)
      iex> table.columns
      ["param", "sponsor", "run", "value"]
      iex> length(table.rows)
      6
      iex> path = Path.join(System.tmp_dir!(), "countdown.svg")
      iex> Mote.Measure.plot(table, path, x: :log, title: "counting down")
      :ok
      iex> File.rm!(path)
      :ok

  IEx pretty-prints a table; `Mote.Measure.Table` has its summary (median, least, greatest, deviation), CSV
  and TSV:

      iex> table = Mote.Measure.Table.new([:param, :sponsor, :run, :value], [[5, :single, 1, 71], [5, :single, 2, 64]])
      iex> Mote.Measure.Table.summary(table)
      #Mote.Measure.Table<
        param  sponsor  runs  median  min  max   mad
            5  single      2    67.5   64   71  3.50
      >

  ## The dataflow

  Actors do the measuring: `Mote.Measure.Timer` takes the time of a device, `Mote.Measure.Median` asks it several times,
  `Mote.Measure.Prep` divides by the number of actors, `Mote.Measure.Sweep` goes through the parameters;
  `Mote.Measure.Statistics`, `Mote.Measure.Histogram` and `Mote.Measure.Plotter` are at its end. Each is a
  service that answers `{customer, request}`, and so each can be used alone, or put together in other ways.
  `sweep/2` puts them together in this order.

  The idea is that of the measurements of David McClain's Lisp Actors, which were such a dataflow.
  """

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.{Behaviour, Error, Inspection}
  alias Mote.Measure.{Median, Number, Plot, Prep, Sweep, Table, Timer}

  @sponsors [single: [threads: 1], multi: [threads: :cores]]
  @runs 3

  @doc """
  Measures a device for each parameter, in each sponsor, as many times as `:runs` says.

  Options:

    * `:param` - the parameters, an enumerable such as `5..24`; required;
    * `:runs` - the number of times that each point is measured (#{@runs});
    * `:per` - a function of the parameter that says by how much the time is divided, such as the number of actors. The
      table then has this number as `count`;
    * `:sponsor` - where the device runs: the name of a sponsor, or a list of them (`[:single, :multi]`, or the first one
      of `:machine`);
    * `:machine` - a machine that runs already. Without it there is one for the sweep, with the sponsors `single`, of one
      thread, and `multi`, of a thread for each core;
    * `:home` - the sponsor where the clock is read (the machine's first one). A sponsor with one thread is
      best, since that thread then reads both ends of an interval; with several threads, two may read them;
    * `:progress` - `true` for a line on the terminal for every point (default), `false`, or a function that gets the
      line.

  The table has the columns `param`, `sponsor`, `run`, `count` if there is `:per`, and `value`: nanoseconds. Every point
  is measured in one sponsor after the other before the next one is. The code of the device is compiled first.
  All runs are in one machine, which collects the garbage of earlier ones: the time of a long run includes
  that. A device in a sponsor other than the home pays for two ways between threads, some microseconds when
  they sleep.

  Raises `Mote.Error` when the machine ends, or with `:broken_promise` when the device does not answer.
  """
  @spec sweep(Behaviour.t(), keyword) :: Table.t()
  def sweep(device, opts) do
    known = [:param, :runs, :per, :sponsor, :machine, :home, :progress]

    opts =
      Keyword.merge([runs: @runs, progress: true], Inspection.keyword!(opts, "the options of sweep/2", known))

    device!(device)
    params = params!(opts[:param])
    runs!(opts[:runs])
    per = per!(opts[:per])
    progress = progress!(opts[:progress])

    with_machine(opts[:machine], fn machine ->
      sponsors = List.wrap(opts[:sponsor] || sponsors(opts[:machine]))
      counts = if per, do: Map.new(params, &{&1, count!(per.(&1), &1)})
      home = opts[:home] || hd(Mote.sponsors(machine))
      Enum.each([home | sponsors], &sponsor!(&1, machine))

      services = for name <- sponsors, do: {name, service(machine, device, home, name, opts[:runs], counts)}
      compiled(machine)

      measured = watched(progress, length(params) * length(sponsors), &ask(machine, services, params, &1))
      table(device, measured, counts)
    end)
  end

  @doc """
  Draws a table to a file, an SVG or a PNG by its extension.

  A point is the median of the runs, with a line from the least to the greatest. Options:

    * `:x`, `:y` - the scales: `:linear` (default), `:log` or `:log2`;
    * `:over` - the column of the x axis (`param`);
    * `:value` - the column of the values (`value`, or `median` of a summary);
    * `:series` - the column whose cells are the lines (the first of `sponsor`, `variant` and `series` that exists);
    * `:kind` - `:lines`, `:bars` (one for each line and x) or `:histogram` (how the runs are spread; its bars are
      equally wide on the scale of x);
    * `:bins` - how many bars a histogram has (20);
    * `:legend` - where the names of the lines are: `:right` of the plot (default), in it at the `:upper_left`,
      `:upper_right`, `:lower_left` or `:lower_right`, or `false`;
    * `:title`, `:x_label`, `:y_label` - texts; without them those of the table;
    * `:size` - `{width, height}` in pixels (`{860, 520}`).

  Plots are drawn by a separate library, which is built with `config :mote, plots: true`. Without it this
  raises a `RuntimeError`.

  An error is a `File.Error`: the file could not be written. Raises `ArgumentError` for a table without numbers, a column
  that is not there, values that are not positive on a logarithmic scale, numbers beyond 1.0e300, and a name that ends
  differently.
  """
  @spec plot(Table.t(), Path.t(), keyword) :: :ok | {:error, %File.Error{}}
  def plot(table, path, opts \\ [])

  def plot(%Table{} = table, path, opts) do
    format = format!(path)
    bytes = Plot.draw(table, format, opts)

    with {:error, reason} <- File.write(path, bytes),
         do: {:error, %File.Error{reason: reason, action: "write the plot to", path: path}}
  end

  def plot(other, _path, _opts), do: expected!("a table to plot, returned by Mote.Measure.sweep/2", other)

  @doc "Like `plot/3`, but raises `File.Error`."
  @spec plot!(Table.t(), Path.t(), keyword) :: :ok
  def plot!(table, path, opts \\ []) do
    with {:error, error} <- plot(table, path, opts), do: raise(error)
  end

  defp format!(path) do
    case (is_binary(path) or is_list(path)) and path |> Path.extname() |> String.downcase() do
      ".svg" -> :svg
      ".png" -> :png
      _ -> raise ArgumentError, "a plot is an .svg or a .png file, got: #{inspect(path)}"
    end
  end

  # -- the sweep -----------------------------------------------------------------------------------------------

  defp with_machine(nil, fun) do
    {:ok, machine} = Mote.start_link(sponsors: @sponsors)

    try do
      fun.(machine)
    after
      Mote.stop(machine)
    end
  end

  defp with_machine(machine, fun), do: fun.(machine)

  defp sponsors(nil), do: Keyword.keys(@sponsors)
  defp sponsors(machine), do: [hd(Mote.sponsors(machine))]

  defp service(machine, device, home, sponsor, runs, counts) do
    # The device has no pin: its cascade runs where the timer sends the request.
    device = Mote.create(machine, device)
    timer = Mote.create(machine, Timer.timer(device, home, sponsor))
    median = Mote.create(machine, Median.median(timer, runs))
    if counts, do: Mote.create(machine, Prep.prep(median, counts)), else: median
  end

  # What is to be measured is the code that runs in the long run, not the interpreter that stands in for it.
  defp compiled(machine) do
    if Mote.info(machine).native.pending > 0 do
      Process.sleep(1)
      compiled(machine)
    end
  end

  defp ask(machine, services, params, watcher) do
    sweep = Mote.create(machine, Sweep.sweep(services, watcher))
    Mote.ask!(sweep, params, :infinity)
  end

  # The lines are written by a process of its own, so that nothing comes into the caller's mailbox.
  defp watched(nil, _points, fun), do: fun.(:undefined)

  defp watched(progress, points, fun) do
    watcher = Task.async(fn -> watch(progress, points) end)

    try do
      measured = fun.(watcher.pid)
      Task.await(watcher, :infinity)
      measured
    after
      Task.shutdown(watcher, :brutal_kill)
    end
  end

  defp watch(_progress, 0), do: :ok

  defp watch(progress, _points) do
    receive do
      {:measured, param, sponsor, answer, left} ->
        progress.("#{param} #{sponsor}: #{shown(answer)}#{if left > 0, do: " (#{left} to go)"}")
        watch(progress, left)
    end
  end

  defp shown(%{median: median, mad: mad}) when is_number(median),
    do: "#{Number.short(median)} ns ± #{Number.short(mad)}"

  defp shown(_), do: "no time"

  defp table(device, measured, counts) do
    rows =
      for {param, sponsor, %{samples: samples}} <- measured, {value, run} <- Enum.with_index(samples, 1) do
        if counts, do: [param, sponsor, run, counts[param], value], else: [param, sponsor, run, value]
      end

    columns = if counts, do: [:param, :sponsor, :run, :count, :value], else: [:param, :sponsor, :run, :value]
    Table.new(columns, rows, title: Atom.to_string(device.name), unit: "ns")
  end

  # -- options -------------------------------------------------------------------------------------------------

  defp device!(%Behaviour{}), do: :ok

  defp device!(other),
    do: expected!("a behaviour to measure, such as MyDevice.device()", other)

  defp params!(nil), do: raise(ArgumentError, "sweep needs :param, the parameters, such as param: 5..24")

  defp params!(params) do
    case Enumerable.impl_for(params) && Enum.to_list(params) do
      [_ | _] = list ->
        case Enum.find(list, &(not (is_number(&1) or is_binary(&1) or is_atom(&1)))) do
          nil -> Enum.uniq(list)
          other -> raise ArgumentError, "a parameter is a number, a text or an atom, got: #{inspect(other)}"
        end

      _ ->
        expected!(":param to be a range or list with something in it", params)
    end
  end

  defp runs!(runs) when is_integer(runs) and runs > 0, do: :ok

  defp runs!(other),
    do: expected!(":runs to be a positive integer", other)

  defp per!(per) when is_nil(per) or is_function(per, 1), do: per

  defp per!(other),
    do: expected!(":per to be a function of the parameter", other)

  defp count!(count, _param) when is_number(count) and count > 0, do: count

  defp count!(other, param) do
    raise ArgumentError,
          "expected :per to give a positive number, for #{inspect(param)} it gave: #{inspect(other)}"
  end

  defp progress!(true), do: &IO.puts(:stderr, "  " <> &1)
  defp progress!(false), do: nil
  defp progress!(fun) when is_function(fun, 1), do: fun

  defp progress!(other),
    do: expected!(":progress to be true, false or a function", other)

  defp sponsor!(name, machine) do
    if name not in Mote.sponsors(machine), do: raise(Error.from(:no_sponsor, sponsor: name, machine: machine))
  end
end
