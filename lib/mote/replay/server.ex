defmodule Mote.Replay.Server do
  # The process of a replay: it answers for the machine that is at the present place, and keeps images of places before.
  #
  # 1. `checkpoints` are of places in their order, the first one that of the recording; the machine can be brought to any place from the
  #    last one before it.
  # 2. There are as many images as `@most` at most, and no more bytes than `@bytes` of those that are not the first: then every second one
  #    goes, and from then on there is one after twice as many turns. So a step back takes time in proportion to the number of turns
  #    so far, divided by that number.
  # 3. Between two images there are so many turns for each actor and cell in them that saving takes a small part of the time.
  # 4. Going back and searching run other machines. When one of them has ended, its addresses lead to the present one: those of the last
  #    `@earlier` do.
  @moduledoc false

  use GenServer

  alias Mote.{Error, Image, Native}
  alias Mote.Durable.Folder
  alias Mote.Machine.{MemoryOptions, Options, Question, Reporter, Table}
  alias Mote.Replay.{Difference, Recording, Stage}

  @every 4_000_000
  @most 64
  @bytes 4 * 1024 * 1024 * 1024
  @turns_for_each 10
  @earlier 256

  @doc "Starts it, linked to the calling process once it has begun: a recording that is not good is an error, and no exit."
  @spec start(String.t(), keyword) :: {:ok, pid} | {:error, Error.t()}
  def start(path, opts), do: GenServer.start(__MODULE__, {self(), path, opts})

  @doc "More turns or events than there can be."
  @spec all :: pos_integer
  defdelegate all, to: Stage

  @impl GenServer
  def init({owner, path, opts}) do
    Process.flag(:trap_exit, true)

    with {:ok, recording} <- Recording.find(Path.expand(path), opts[:number]),
         {:ok, sponsor} <- Recording.sponsor(recording),
         {:ok, image} <- Image.read(recording.image),
         {:ok, file, about} <- opened(recording.journal),
         options = options(about, opts),
         source = %{
           recording: recording,
           file: file,
           identity: image.identity,
           sponsor: sponsor,
           options: options,
           changed: []
         },
         first = %{path: recording.image, place: {0, 0}, mark: ""},
         {:ok, stage} <- Stage.start(source, first) do
      Process.link(owner)

      folder =
        Path.join(System.tmp_dir!(), "mote_replay_#{System.pid()}_#{:erlang.unique_integer([:positive])}")

      {:ok,
       %{
         owner: owner,
         source: source,
         about: about,
         stage: shown(stage),
         folder: folder,
         earlier: [],
         checkpoints: [first],
         bytes: %{},
         every: opts[:checkpoint_every] || @every,
         least: 0
       }}
    else
      {:error, error} -> {:stop, error}
    end
  end

  defp opened(path) do
    case Native.replay_open(path) do
      {:ok, file, {events, turns, fuel, cut}} ->
        {:ok, file, %{events: events, turns: turns, fuel: fuel, cut: cut}}

      {:error, text} ->
        {:error, Folder.error(path, text)}
    end
  end

  defp options(%{fuel: fuel}, opts) do
    %{
      fuel: fuel,
      memory: MemoryOptions.memory!(Keyword.get(opts, :memory, :infinity), []),
      gc: MemoryOptions.gc!([]),
      tier: Options.tier!(Keyword.get(opts, :tier, :native))
    }
  end

  # The machine that functions find which take a machine.
  defp shown(%Stage{native: native, names: names, source: %{options: options}} = stage) do
    about = Reporter.about(nil, Reporter.options!(level: :none))
    Table.put(self(), native, nil, about, options.memory, :system, options.fuel, names)
    stage
  end

  @impl GenServer
  def handle_call(:at, _from, state), do: {:reply, at(state), state}

  def handle_call({:forward, goal}, _from, state) do
    if before?(goal, state.stage.place),
      do: {:reply, {:error, :before}, state},
      else: state |> forward(goal) |> replied(state)
  end

  def handle_call({:back, turns}, _from, %{stage: %{place: {turn, _}}} = state),
    do: state |> rewind({max(turn - turns, 0), 0}) |> replied(state)

  def handle_call(:step, _from, state) do
    case Stage.step(state.stage) do
      {:ok, stage, nil} -> {:reply, :end, %{state | stage: stage}}
      {:ok, stage, turn} -> {:reply, {:ok, turn}, %{state | stage: stage}}
      {:error, error} -> replied({:error, error}, state)
    end
  end

  def handle_call({:search, search}, _from, state) do
    {found, natives} = search(state, search)
    {:reply, found, led_here(state, natives)}
  end

  def handle_call({:first_difference, modules, turns}, _from, state),
    do: {:reply, Difference.first(state.source, modules, turns), state}

  def handle_call(:fingerprint, _from, state),
    do: {:reply, fingerprint(state.stage.native), state}

  # What others ask the process of a machine.
  def handle_call(:native, _from, state), do: {:reply, state.stage.native, state}
  def handle_call(:keeper, _from, state), do: {:reply, nil, state}

  def handle_call({:add_sponsor, _sponsor, _timeout}, _from, state),
    do: {:reply, {:error, "a replay has the sponsor of its recording"}, state}

  @impl GenServer
  # Of a machine that has ended in a question, or is traced no more.
  def handle_info({:mote_fault, _, _, _, _}, state), do: {:noreply, state}
  def handle_info({:mote_trace, _, _}, state), do: {:noreply, state}
  def handle_info({:EXIT, owner, _reason}, %{owner: owner} = state), do: {:stop, :normal, state}
  def handle_info({:EXIT, _pid, :normal}, state), do: {:noreply, state}
  def handle_info({:EXIT, _pid, reason}, state), do: {:stop, reason, state}

  use Mote.Internal.Stray

  defp who(state), do: "replay of #{state.source.recording.journal}"

  @impl GenServer
  def terminate(_reason, state) do
    Table.take(self())
    Stage.stop(state.stage)
    File.rm_rf(state.folder)
  end

  @spec fingerprint(reference) :: {:ok, non_neg_integer} | {:error, Error.t()}
  def fingerprint(native) do
    case Question.put(native, :infinity, [survey: true], &Native.machine_fingerprint(native, &1)) do
      {:ok, sum} when is_integer(sum) -> {:ok, sum}
      {:ok, word} -> {:error, Error.from(word, [])}
      {:error, error} -> {:error, error}
    end
  end

  defp at(%{stage: %{place: {turn, event}}, about: about, source: source}) do
    %{
      turn: turn,
      event: event,
      turns: about.turns,
      events: about.events,
      cut: about.cut,
      path: source.recording.journal
    }
  end

  defp before?({turn, 0}, {now, _entered}), do: turn < now
  defp before?({0, event}, {_now, entered}), do: event < entered
  defp before?({turn, event}, {now, entered}), do: turn < now or event < entered

  defp replied({:ok, state}, _before), do: {:reply, {:ok, at(state)}, state}

  # Back to the place before: the machine is not at any place now.
  defp replied({:error, error}, %{stage: %{place: place}} = before) do
    case rewind(before, place) do
      {:ok, state} -> {:reply, {:error, error}, state}
      {:error, _same} -> {:stop, error, {:error, error}, before}
    end
  end

  # Runs to a goal, and makes images on the way.
  defp forward(state, {turn, event} = goal) do
    with {:ok, stage, over?, nil} <- Stage.run(state.stage, {turn, event, due(state)}),
         {:ok, state} <- kept(%{state | stage: stage}) do
      if over?, do: {:ok, state}, else: forward(state, goal)
    end
  end

  # The turn after which there is to be an image; none between those that are there.
  defp due(%{checkpoints: checkpoints, every: every, least: least, stage: %{place: {now, _}}}) do
    %{place: {last, _}} = List.last(checkpoints)
    max(last + max(every, least), now + 1)
  end

  defp kept(%{stage: %{place: {now, _}}} = state) do
    %{place: {last, _}} = List.last(state.checkpoints)

    if now - last >= max(state.every, state.least) do
      File.mkdir_p!(state.folder)
      path = Path.join(state.folder, "#{now}.image")

      with {:ok, checkpoint, image} <- Stage.save(state.stage, path) do
        least = @turns_for_each * (image.actors + image.cells)
        bytes = Map.put(state.bytes, path, image.bytes)

        {:ok, thinned(%{state | checkpoints: state.checkpoints ++ [checkpoint], bytes: bytes, least: least})}
      end
    else
      {:ok, state}
    end
  end

  defp thinned(%{checkpoints: [first | others] = all} = state) do
    if length(all) > @most or (Enum.sum(Map.values(state.bytes)) > @bytes and length(all) > 2) do
      # The last one stays.
      {gone, left} =
        others |> Enum.reverse() |> Enum.with_index() |> Enum.split_with(fn {_, n} -> rem(n, 2) == 1 end)

      paths = for {%{path: path}, _} <- gone, do: path
      Enum.each(paths, &File.rm/1)
      left = for {checkpoint, _} <- Enum.reverse(left), do: checkpoint

      thinned(%{
        state
        | checkpoints: [first | left],
          bytes: Map.drop(state.bytes, paths),
          every: 2 * state.every
      })
    else
      state
    end
  end

  # Another machine, from the last image before that place.
  defp rewind(state, {turn, event} = place) do
    checkpoint = state.checkpoints |> Enum.filter(&at_most?(&1.place, place)) |> List.last()

    with {:ok, stage} <- Stage.start(state.source, checkpoint) do
      case Stage.run(stage, {turn, event, Stage.all()}) do
        {:ok, stage, _over?, nil} ->
          Stage.stop(state.stage)
          {:ok, led_here(%{state | stage: shown(stage)}, [state.stage.native])}

        {:error, error} ->
          Stage.stop(stage)
          {:error, error}
      end
    end
  end

  # An image of as many turns has only the entries that these needed.
  defp at_most?({turn, _}, {wanted, _}), do: turn <= wanted

  # Addresses of machines that were joined lead to the present one.
  defp led_here(%{stage: %{native: native}} = state, natives) do
    earlier = Enum.take(natives ++ state.earlier, @earlier)
    Enum.each(earlier, &Native.replay_succeeds(&1, native))
    %{state | earlier: earlier}
  end

  # The last turn before the present place that is looked for, as a trace shows it, and the machines that have looked for it.
  defp search(%{stage: %{place: {now, _}}} = state, search) do
    ends = state.checkpoints |> Enum.map(fn %{place: {turn, _}} -> min(turn, now) end) |> Enum.drop(1)
    parts = Enum.zip(state.checkpoints, ends ++ [now])
    parts = for {%{place: {from, _}} = checkpoint, to} <- parts, from < now, do: {checkpoint, to}
    parts |> Enum.reverse() |> found(state, search, [])
  end

  defp found([], _state, _search, natives), do: {:none, natives}

  defp found([{checkpoint, to} | parts], state, search, natives) do
    {looked, natives} = with_stage(state, checkpoint, natives, &Stage.run(&1, {to, 0, Stage.all()}, search))

    case looked do
      {:ok, _stage, _over?, nil} -> found(parts, state, search, natives)
      {:ok, _stage, _over?, turn} -> with_stage(state, checkpoint, natives, &turn_of(&1, turn))
      {:error, error} -> {{:error, error}, natives}
    end
  end

  defp turn_of(stage, turn) do
    with {:ok, stage, _over?, nil} <- Stage.run(stage, {turn - 1, 0, Stage.all()}),
         {:ok, _stage, seen} <- Stage.step(stage),
         do: {:ok, %{turn: turn, seen: seen}}
  end

  defp with_stage(state, checkpoint, natives, act) do
    case Stage.start(state.source, checkpoint) do
      {:ok, stage} ->
        acted = act.(stage)
        Stage.stop(stage)
        {acted, [stage.native | natives]}

      {:error, error} ->
        {{:error, error}, natives}
    end
  end
end
