defmodule Mote.Image do
  @moduledoc """
  The contents of an image of a machine: `Mote.save/3` returns them, and `read/1` reads them from a file.

  The guide [State that lasts](images.md) says what images are for, and `mix mote.image FILE` prints one.

    * `path`, `bytes` - the file, and its size;
    * `moment` - the machine's time when it was saved, in milliseconds. The next machine goes on from that time;
    * `actors`, `cells`, `events`, `timers` - how many of each are in it. An event is a message that waited for an actor;
    * `sponsors` - the sponsors that actors are pinned to, or that events waited in. The next machine needs them;
    * `behaviours` - a map for each behaviour that actors have: `behaviour` (module, name, number of captures),
      `version`, the hash of its module's code, and `actors`, how many have it. For sockets, `behaviour` is `:socket`
      or `:listener`: they are closed in the next machine;
    * `identity` - the identity of the machine that was saved (`:identity` of `Mote.start_link/1`), or `nil`;
    * `kept` - how many actors work under their old addresses again, in a machine of that identity;
    * `lost` - the values that were not saved, since only the BEAM has them: a map for each kind of value and holder,
      with `kind` (such as `:pid`, `:reference` or `:function`; `:address` stands for actors of other machines and for
      customers), `behaviour` (of the actors that held it, or that the message was for; `nil` for a named value),
      `held` (`:state`, `:message`, `:running` or `:timer`, as of `Mote.waiting/2`), and `count`;
    * `stood_still` - the microseconds for which the machine stood still for the moment that was saved, or for all of the saving (`Mote.save/3`
      says when that is so); `nil` for a file that was read.
  """

  alias Mote.{Error, Inspection, Native}
  alias Mote.Image.Migration
  alias Mote.Machine.{Loader, Long, Options, Question}

  @enforce_keys [
    :path,
    :bytes,
    :moment,
    :actors,
    :cells,
    :events,
    :timers,
    :sponsors,
    :behaviours,
    :identity,
    :kept,
    :lost,
    :stood_still
  ]
  defstruct @enforce_keys

  @type t :: %__MODULE__{
          path: String.t(),
          bytes: non_neg_integer,
          moment: non_neg_integer,
          actors: non_neg_integer,
          cells: non_neg_integer,
          events: non_neg_integer,
          timers: non_neg_integer,
          sponsors: [atom],
          behaviours: [
            %{behaviour: Inspection.behaviour(), version: non_neg_integer, actors: non_neg_integer}
          ],
          identity: String.t() | nil,
          kept: non_neg_integer,
          lost: [
            %{kind: atom, behaviour: Inspection.behaviour() | nil, held: atom, count: pos_integer}
          ],
          stood_still: non_neg_integer | nil
        }

  @typedoc """
  A value that is not in an image, as the argument of the function `:resolve` of `Mote.start_link/1`: `kind`,
  `behaviour` and `held` as in `lost` of an image, and `value`, the original value if it means anything on this node.
  There is no `value` for customers, timers, and functions other than those of a module (`&String.upcase/1`). There is
  none either for a pid, port or reference of a node without a name that has ended, because the next such node uses
  the same ones for other things.
  """
  @type lost_value :: %{
          required(:kind) => atom,
          required(:behaviour) => Inspection.behaviour() | nil,
          required(:held) => atom,
          optional(:value) => term
        }

  @doc """
  Reads the contents of an image file, and checks everything that can be checked without a machine.

      iex> {:ok, machine} = Mote.start_link()
      iex> counter = Mote.create(machine, Mote.Library.counter(7))
      iex> path = Path.join(System.tmp_dir!(), "mote_read_doc.image")
      iex> {:ok, _} = Mote.save(machine, path, names: %{counter: counter})
      iex> {:ok, image} = Mote.Image.read(path)
      iex> {image.actors, Enum.map(image.behaviours, & &1.behaviour)}
      {1, [{Mote.Library.Cells, :counter, 1}]}
      iex> File.rm!(path)
      iex> {:error, error} = Mote.Image.read(path)
      iex> Exception.message(error) == "\#{path}: no such file or directory"
      true
  """
  @spec read(String.t()) :: {:ok, t} | {:error, Error.t()}
  def read(path) do
    with {:ok, _image, about, _units} <- open(path),
         {:ok, %{size: bytes}} <- File.stat(path) do
      {:ok, about(path, bytes, about, nil)}
    else
      {:error, %Error{}} = error -> error
      {:error, posix} -> {:error, error(path, :file.format_error(posix))}
    end
  end

  @doc false
  # See `Mote.save/3`.
  @spec save(reference, String.t(), term, timeout) :: {:ok, t} | {:error, Error.t()}
  def save(native, path, names, timeout) do
    saved(native, path, timeout, &Native.image_save(native, path, names, Long.kept(names), &1))
  end

  @doc false
  # The same, with the journal of a durable machine that goes on from it.
  @spec save_and_begin(reference, {reference, String.t(), String.t()}, {pos_integer, tuple, tuple}, map) ::
          {:ok, t} | {:error, Error.t()}
  def save_and_begin(native, {_lock, path, _journal} = paths, {number, how, told}, names) do
    begin = &Native.journal_begin(native, paths, number, how, told, names, Long.kept(names), &1)
    saved(native, path, :infinity, begin)
  end

  defp saved(native, path, timeout, ask) do
    with {:ok, answer} <- Question.put(native, timeout, [path: path, survey: true], ask) do
      case answer do
        {:ok, {bytes, stood_still, about}} -> {:ok, about(path, bytes, about, stood_still)}
        {:error, text} -> {:error, error(path, text)}
      end
    end
  end

  @doc false
  # Lets a machine go on that has done nothing yet; returns what was named, and the behaviours that go on with code that is not the
  # present one.
  @spec restore(
          reference,
          String.t(),
          nil | (lost_value -> {:ok, term} | :lost),
          nil | ({module, atom, tuple} -> Mote.Behaviour.t() | :keep)
        ) :: {:ok, map, [map]} | {:error, Error.t()}
  def restore(native, path, resolve, migrate) do
    with {:ok, image, {_, _, _, _, behaviours, _}, units} <- open(path),
         :ok <- load(native, path, image, units) do
      {asked, renewed} = changed = Migration.numbers(behaviours, migrate)
      put = put(native, image, resolved(image, resolve), changed)

      with {:ok, answer, stay} <- Migration.run(native, path, behaviours, migrate, put),
           {:ok, names} <- named(answer, path),
           do: {:ok, names, older(behaviours, asked ++ renewed, stay, native)}
    end
  end

  @doc false
  # Lets a machine go on that is to do the same as another one did: with the code of that time, and with all values as they were, whatever
  # they are today. Returns what was named.
  @spec restore_as_it_was(reference, String.t()) :: {:ok, map} | {:error, Error.t()}
  def restore_as_it_was(native, path) do
    with {:ok, image, _about, units} <- open(path),
         :ok <- load_units(native, path, image, units) do
      lost = for {number, _about, {value, _here?}} <- Native.image_lost(image), do: {number, value}
      put = put(native, image, lost, {[], []})
      with {:ok, answer} <- Question.put(native, :infinity, [path: path], put), do: named(answer, path)
    end
  end

  # Puts the question that lets a machine go on, with values in the place of those that are lost.
  defp put(native, image, values, changed) do
    {numbers, values} = Enum.unzip(values)
    values = List.to_tuple(values)
    &Native.image_restore(native, image, numbers, values, Long.kept(values), changed, &1)
  end

  defp named({:ok, names}, _path), do: {:ok, names}
  defp named({:error, text}, path), do: {:error, error(path, text)}
  defp named(word, path), do: {:error, Error.from(word, path: path)}

  defp resolved(_image, nil), do: []

  defp resolved(image, resolve) do
    for {number, {kind, of, held, 1}, was} <- Native.image_lost(image),
        lost = with_value(%{kind: kind, behaviour: holder(of), held: held}, was),
        {:ok, found} <- [resolved!(resolve, lost)],
        do: {number, found}
  end

  @doc false
  # What is lost, as of an image of another start of the node, whoever has written it.
  @spec of_another_start(lost_value) :: lost_value
  def of_another_start(%{value: value} = lost), do: lost |> Map.delete(:value) |> with_value({value, false})
  def of_another_start(lost), do: lost

  # All nodes without a name give the same pids, ports and references: in another start of one they are somebody else's.
  defp with_value(lost, {value, false})
       when (is_pid(value) or is_port(value) or is_reference(value)) and node(value) == :nonode@nohost,
       do: lost

  defp with_value(lost, {value, _here?}), do: Map.put(lost, :value, value)
  defp with_value(lost, nil), do: lost

  defp resolved!(resolve, lost) do
    case resolve.(lost) do
      answer
      when answer == :lost or (is_tuple(answer) and tuple_size(answer) == 2 and elem(answer, 0) == :ok) ->
        answer

      other ->
        raise ArgumentError, "expected :resolve to return {:ok, value} or :lost, got: #{inspect(other)}"
    end
  end

  defp open(path) do
    path = Options.path!(path, "an image")
    with {:error, text} <- Native.image_open(path, atoms()), do: {:error, error(path, text)}
  end

  # Atoms are never forgotten. What images make may fill half of the table: so no image takes the room of other code.
  defp atoms, do: {div(:erlang.system_info(:atom_limit), 2), :erlang.system_info(:atom_count)}

  # The versions that are in the image first: what the node has today is the present version, and new actors get that.
  defp load(native, path, image, units) do
    with :ok <- load_units(native, path, image, units) do
      present = for {module, hash} <- units, differs?(module, hash), uniq: true, do: module
      each(present, &Loader.beside(native, &1))
    end
  end

  defp load_units(native, path, image, units),
    do: units |> Enum.with_index() |> each(&load_unit(native, path, image, &1))

  defp differs?(module, hash), do: Loader.about(module, [:hash]) not in [:error, {:ok, [hash]}]

  defp load_unit(native, path, image, {{module, hash}, number}) do
    if Loader.about(module, [:hash]) == {:ok, [hash]},
      do: Loader.beside(native, module),
      else: load_from(native, path, image, module, number)
  end

  defp load_from(native, path, image, module, number) do
    case Native.image_load(native, image, number) do
      :ok -> :ok
      {:error, text} -> {:error, error(path, "the code of #{inspect(module)} in it was refused: #{text}")}
      word -> {:error, Error.from(word, module: module)}
    end
  end

  defp each(things, act) do
    Enum.reduce_while(things, :ok, fn thing, :ok ->
      with :ok <- act.(thing), do: {:cont, :ok}, else: (error -> {:halt, error})
    end)
  end

  defp older(behaviours, changed, stay, native) do
    # Without a module are those of the machine itself: its sockets.
    for {{{module, name, captures}, hash, actors}, number} when module != nil <- Enum.with_index(behaviours),
        Native.machine_module(native, module) != hash,
        left = if(number in changed, do: stay[number], else: actors),
        do: %{behaviour: {module, name, captures}, actors: left}
  end

  defp about(path, bytes, {moment, counts, identity, sponsors, behaviours, lost}, stood_still) do
    {{actors, cells, events, timers}, {identity, kept}} = {counts, identity}

    %__MODULE__{
      path: path,
      bytes: bytes,
      moment: moment,
      actors: actors,
      cells: cells,
      events: events,
      timers: timers,
      sponsors: Enum.sort(sponsors),
      behaviours:
        for(
          {of, version, actors} <- Enum.sort(behaviours),
          do: %{behaviour: holder(of), version: version, actors: actors}
        ),
      identity: identity,
      kept: kept,
      lost:
        for(
          {kind, of, held, count} <- Enum.sort(lost),
          do: %{kind: kind, behaviour: holder(of), held: held, count: count}
        ),
      stood_still: stood_still
    }
  end

  defp holder({nil, name, _}), do: name
  defp holder(behaviour), do: behaviour

  defp error(path, text), do: Error.new(:image, "#{path}: #{text}", path: path)
end
