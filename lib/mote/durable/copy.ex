defmodule Mote.Durable.Copy do
  # Copies the images and journals of a durable machine to the folder of another node, as far as the disk has them: see
  # `Mote.Durable.copy/2`. It reads the files of the machine, and does one step at a time (`Mote.Durable.Standby`). So a
  # slow node costs no memory: everything that waits is in the files.
  #
  # 1. A step is done when the other node's disk has it. Only then does the next one begin, and the waiting machine is
  #    told.
  # 2. Journals go over in their order, each up to where the disk of this node has it; images when no journal has more. A journal that was
  #    removed before it went over begins a new copy, with the newest image. Files that are open stay readable.
  # 3. A machine that waits for its copy waits from the moment on when that has caught up, until this process is ended or fails
  #    (`Mote.Durable.Keeper`): also while the other node is away, and after another machine has taken over.
  # 4. A step takes no longer than the patience for it: a node that does nothing is away, though its connection has not ended.
  # 5. The folder is another machine's only when that has begun its own journal there. Until then this process tries again.
  @moduledoc false

  use GenServer

  require Logger

  import Mote.Internal.Sized, only: [sized: 1]

  alias Mote.{Durable, Error, Native}
  alias Mote.Durable.{Folder, Standby}

  # Bytes of a step, and milliseconds between two looks for an image, until a node that is away is tried again, and for each answer of it.
  @step 256 * 1024
  @look 500
  @again 500
  @patience 15_000

  # The first bytes of a journal, and those of each entry, of which the first word is the length of the rest (boundary/journal/file.rs).
  @header 104
  @head 48

  @type options :: %{node: node, dir: String.t(), wait: boolean}

  @doc "Starts it for a machine, and returns when the other node has made the folder a copy's."
  @spec start({pid, reference, String.t()}, options) :: {:ok, pid} | {:error, Error.t()}
  def start({_machine, _native, _dir} = of, opts), do: GenServer.start(__MODULE__, {self(), of, opts})

  @spec info(pid) :: Durable.copied()
  def info(copy), do: GenServer.call(copy, :info, :infinity)

  @impl GenServer
  def init({keeper, {machine, native, dir}, opts}) do
    Process.monitor(keeper)

    state = %{
      keeper: keeper,
      machine: machine,
      native: native,
      dir: dir,
      opts: opts,
      state: :copying,
      standby: nil,
      # The step that is on its way, what comes after it, and the timer of its patience.
      step: nil,
      # The image that goes over, and the number of the last one that has.
      image: nil,
      imaged: 0,
      journal: nil,
      entries: 0,
      # Whether an image is next, if one goes over.
      image_next: false
    }

    case connected(state) do
      {:ok, state} -> {:ok, state, {:continue, :next}}
      {:error, error} -> {:stop, error}
    end
  end

  # -- the other end -------------------------------------------------------------------------------------------

  defp connected(%{opts: %{node: node, dir: dir}} = state) do
    of = "the durable machine in #{state.dir} of #{node()}"

    with {:ok, standby, has} <- :erpc.call(node, Standby, :start, [dir, of, self()], @patience) do
      {:ok, begun(%{state | standby: {standby, Process.monitor(standby)}, step: nil}, has)}
    end
  catch
    :error, {:erpc, _} -> {:error, Error.from(:noconnection, node: node)}
    :error, {:exception, :undef, _} -> {:error, Error.from(:other_protocol, node: node)}
  end

  # Goes on where the copy ends, or begins a new one.
  defp begun(state, has) do
    closed([state.image, state.journal])
    state = %{state | state: :copying, image: nil, journal: nil, entries: 0}

    with {imaged, {number, bytes, hash}} <- has,
         {:ok, file} <- opened(Folder.journal(state.dir, number)),
         {:ok, ^hash} <- Standby.hash(file, bytes) do
      state = %{state | imaged: imaged, journal: {number, file, 0, nil}}
      begun_again(state, {@header, "", 0}, bytes)
    else
      _other -> %{state | imaged: 0}
    end
  end

  # The entries that are there are counted.
  defp begun_again(%{journal: {number, file, at, _}} = state, heads, bytes) do
    case :file.pread(file, at, min(@step, bytes - at)) do
      {:ok, block} when at < bytes ->
        heads = counted(heads, block)

        state = %{
          state
          | journal: {number, file, at + byte_size(block), nil},
            entries: state.entries + elem(heads, 2)
        }

        begun_again(state, heads, bytes)

      _ ->
        %{state | journal: {number, file, at, heads}}
    end
  end

  defp away(state, why) do
    if state.state not in [:away, :taken_over],
      do: Logger.warning("#{who(state)} waits for the other node, and tries again: #{why}")

    Process.send_after(self(), :connect, @again)
    %{state | state: :away, standby: nil, step: nil}
  end

  defp taken_over(state) do
    waits = if state.opts.wait, do: ", and acknowledges nothing more", else: ""

    Logger.error(
      "#{who(state)} has ended: a machine there has taken over, and this machine still runs#{waits}: stop it"
    )

    closed([state.image, state.journal])
    %{state | state: :taken_over, standby: nil, step: nil, image: nil, journal: nil}
  end

  # -- steps ---------------------------------------------------------------------------------------------------

  defp next(%{standby: {_, _}, step: nil} = state) do
    case Native.journal_info(state.native) do
      {number, bytes, _told, _batches, _took} -> step(state, {number, bytes})
      # The keeper ends, too.
      _stopped -> state
    end
  end

  defp next(state), do: state

  # A new copy: an image, and the beginning of its journal. If another one has just taken its place, the next look finds that.
  defp step(%{journal: nil, image: nil} = state, _end) do
    with {:ok, [_ | _] = images, _} <- Folder.list(state.dir),
         {:ok, state} <- image(state, Enum.max(images)),
         do: next(state),
         else: (_ -> state)
  end

  defp step(%{journal: nil, image: {number, _, size, size}} = state, ending),
    do: journal(state, number, ending)

  defp step(%{journal: nil} = state, _end), do: more_image(state)

  defp step(%{image: {_, _, _, _}, image_next: true} = state, _end), do: more_image(state)

  defp step(%{journal: {number, file, at, _}} = state, {last, bytes} = ending) do
    case if(number == last, do: {:ok, bytes}, else: size(file)) do
      {:ok, upto} when upto > at -> more_journal(state, upto, number == last)
      {:ok, _at} when number < last -> journal(state, number + 1, ending)
      {:ok, _at} -> no_more(state, ending)
      {:error, posix} -> failed(state, posix)
    end
  end

  # The journal has no more: an image, if there is one, or nothing until there is more.
  defp no_more(%{image: {_, _, _, _}} = state, _ending), do: more_image(state)

  defp no_more(state, {number, _} = ending) do
    state = reached(state, true)

    with true <- number > state.imaged, {:ok, state} <- image(state, number) do
      next(state)
    else
      _ ->
        Native.journal_more(state.native, ending, :mote_more)
        state
    end
  end

  defp image(state, number) do
    with {:ok, file} <- opened(Folder.image(state.dir, number)),
         {:ok, size} <- size(file) do
      {:ok, %{state | image: {number, file, 0, size}}}
    end
  end

  defp more_image(%{image: {number, _file, size, size}} = state) do
    put(state, {:imaged, number}, fn state ->
      closed([state.image])
      %{state | image: nil, imaged: number}
    end)
  end

  defp more_image(%{image: {number, file, at, size}} = state) do
    case :file.pread(file, at, @step) do
      {:ok, bytes} ->
        image = {number, file, at + byte_size(bytes), size}
        put(state, {:image, number, at, bytes}, &%{&1 | image: image, image_next: false})

      other ->
        failed(state, other)
    end
  end

  # Its first bytes are there since it has its name.
  defp journal(state, number, {last, bytes}) do
    with {:ok, file} <- opened(Folder.journal(state.dir, number)),
         {:ok, size} <- if(number == last, do: {:ok, bytes}, else: size(file)),
         {:ok, first} <- :file.pread(file, 0, min(size, @step)) do
      before = state.journal

      put(state, {:journal, number, first}, fn state ->
        closed([before])
        went(state, {number, file, 0, {@header, "", 0}}, first, number == last and byte_size(first) == size)
      end)
    else
      _gone -> state |> begun(nil) |> next()
    end
  end

  defp more_journal(%{journal: {_, file, at, _} = journal} = state, upto, last?) do
    case :file.pread(file, at, min(upto - at, @step)) do
      {:ok, bytes} ->
        put(state, {:more, bytes}, &went(&1, journal, bytes, last? and at + byte_size(bytes) == upto))

      other ->
        failed(state, other)
    end
  end

  # More bytes of a journal are there, all of them or not.
  defp went(state, {number, file, at, heads}, bytes, all?) do
    {_, _, new} = heads = counted(heads, bytes)
    journal = {number, file, at + byte_size(bytes), heads}
    reached(%{state | journal: journal, entries: state.entries + new, image_next: true}, all?)
  end

  defp put(%{standby: {standby, _}} = state, step, done) do
    ref = make_ref()
    send(standby, {:mote_copy, self(), ref, step})
    %{state | step: {ref, done, Process.send_after(self(), {:late, ref}, @patience)}}
  end

  defp failed(state, why), do: state |> dropped() |> away("its own files cannot be read: #{inspect(why)}")

  # The machine goes on until the copy has caught up for the first time.
  defp reached(%{state: :copying, imaged: imaged} = state, true) when imaged > 0,
    do: reached(%{state | state: :following}, true)

  defp reached(%{state: :following, opts: %{wait: true}, journal: {number, _, at, _}} = state, _all?) do
    Native.journal_copied(state.native, {number, at})
    state
  end

  defp reached(state, _all?), do: state

  # -- files ---------------------------------------------------------------------------------------------------

  defp opened(path), do: :file.open(path, [:read, :raw, :binary])
  defp size(file), do: :file.position(file, :eof)
  defp closed(files), do: for({_number, file, _, _} <- files, do: :file.close(file))

  # How many entries begin in more bytes of a journal, where some belong to the one before, and the first of a length may be there already.
  defp counted({skip, part, _n}, bytes), do: count(skip, part <> bytes, 0)

  defp count(skip, bytes, n) do
    case bytes do
      sized(<<_::binary-size(^skip), length::little-64, rest::binary>>) ->
        count(length + @head - 8, rest, n + 1)

      sized(<<_::binary-size(^skip), part::binary>>) ->
        {0, part, n}

      _ ->
        {skip - byte_size(bytes), "", n}
    end
  end

  # -- messages ------------------------------------------------------------------------------------------------

  @impl GenServer
  def handle_continue(:next, state) do
    Process.send_after(self(), :look, @look)
    {:noreply, next(state)}
  end

  @impl GenServer
  def handle_call(:info, _from, state) do
    behind = behind(state, Native.journal_info(state.native))

    {:reply,
     %{
       state: state.state,
       node: state.opts.node,
       dir: state.opts.dir,
       number: state.imaged,
       journal: with({number, _, at, _} <- state.journal, do: {number, at}),
       entries: state.entries,
       behind: behind
     }, state}
  end

  @impl GenServer
  def handle_info({:mote_copied, ref, result}, %{step: {ref, done, timer}} = state) do
    Process.cancel_timer(timer)

    case result do
      :ok -> {:noreply, next(done.(%{state | step: nil}))}
      {:error, text} -> {:noreply, state |> dropped() |> away(text)}
    end
  end

  # Of a connection before.
  def handle_info({:mote_copied, _ref, _result}, state), do: {:noreply, state}

  def handle_info({:late, ref}, %{step: {ref, _done, _timer}} = state),
    do: {:noreply, state |> dropped() |> away("it has not written #{@step} bytes in #{@patience} ms")}

  def handle_info({:late, _ref}, state), do: {:noreply, state}
  def handle_info(:mote_more, state), do: {:noreply, next(state)}

  def handle_info(:look, state) do
    Process.send_after(self(), :look, @look)
    {:noreply, next(state)}
  end

  def handle_info(:connect, %{standby: nil, state: :away} = state) do
    case connected(state) do
      {:ok, state} -> {:noreply, next(state)}
      {:error, %Error{reason: :dir_taken, context: %{copy?: false}}} -> {:noreply, taken_over(state)}
      {:error, error} -> {:noreply, away(state, Exception.message(error))}
    end
  end

  def handle_info({:DOWN, monitor, _, _, reason}, %{standby: {_, monitor}} = state) do
    why =
      if reason == {:shutdown, :taken_over},
        do: "a machine is about to take over there",
        else: "it has ended there, or there is no connection (#{inspect(reason)})"

    {:noreply, away(state, why)}
  end

  def handle_info({:DOWN, _, _, keeper, _}, %{keeper: keeper} = state), do: {:stop, :normal, state}

  use Mote.Internal.Stray

  defp who(%{opts: opts} = state), do: "the copy of #{inspect(state.machine)} in #{opts.dir} of #{opts.node}"

  defp dropped(%{standby: {standby, monitor}} = state) do
    Process.demonitor(monitor, [:flush])
    Process.exit(standby, :kill)
    %{state | standby: nil}
  end

  # Bytes that the disk of this node has, and that of the other one not.
  defp behind(%{journal: {number, file, at, _}} = state, {last, bytes, _, _, _}) do
    with {:ok, size} <- if(number == last, do: {:ok, bytes}, else: size(file)),
         do: size - at + if(number == last, do: 0, else: bytes) + left(state.image),
         else: (_ -> nil)
  end

  defp behind(%{image: {_, _, _, _} = image}, {_, bytes, _, _, _}), do: left(image) + bytes
  defp behind(_state, _info), do: nil

  defp left({_, _, at, size}), do: size - at
  defp left(nil), do: 0
end
