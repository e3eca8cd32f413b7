defmodule Mote.Image.Migration do
  # Migrates actors whose behaviour has other code than in the image: `:migrate` of `Mote.start_link/1` says what they
  # become, actor by actor, before any turn runs. The thread that restores asks for a batch of them at a time, and changes
  # nothing before it has an answer.
  #
  # 1. Whatever the function does, this ends with an error that names the behaviour, or with all actors answered for.
  @moduledoc false

  import Mote.Behaviour.Directory, only: [shard?: 1]

  alias Mote.{Behaviour, Error, Native}
  alias Mote.Behaviour.Changes
  alias Mote.Machine.{Loader, Long, Question}

  @typedoc "Module, name and captures."
  @type actor :: {module, atom, tuple}

  @type fun_of_actors :: (actor -> Behaviour.t() | :keep)

  @typedoc "A behaviour in the tables of an image: module, name and number of captures; the hash of its module; its actors."
  @type listed :: {{module | nil, atom, non_neg_integer}, non_neg_integer, non_neg_integer}

  @doc """
  The numbers of the behaviours whose actors are asked about, and of those that take up their present version as they are: the shards
  of directories, whose last capture nobody has written, whether there is a function or not.
  """
  @spec numbers([listed], nil | fun_of_actors) :: {[non_neg_integer], [non_neg_integer]}
  def numbers(behaviours, migrate) do
    changed = for {{of, hash, _}, number} <- Enum.with_index(behaviours), changed?(of, hash), do: {of, number}

    {shards, others} =
      Enum.split_with(changed, fn {{_, name, _}, _} ->
        shard?(%Behaviour{module: nil, name: name, version: 0})
      end)

    # Those with a slash are the compiler's own as well: calls of functions that are on their way.
    asked = for {{_, name, _}, number} <- others, not String.contains?(Atom.to_string(name), "/"), do: number
    {if(migrate, do: asked, else: []), for({of, number} <- shards, followed?(of), do: number)}
  end

  # Without a module are sockets. Behaviours of Mote itself nobody else knows.
  defp changed?({nil, _, _}, _hash), do: false

  defp changed?({module, _, _}, hash),
    do: Application.get_application(module) != :mote and Loader.about(module, [:hash]) != {:ok, [hash]}

  defp followed?({module, name, n}) do
    case Loader.about(module, [:behaviours, :changes]) do
      {:ok, [behaviours, changes]} -> {name, n} in behaviours or {Changes.from(name), n} in changes
      :error -> false
    end
  end

  @doc """
  Restores by `restore`, which puts a question. Returns its last answer, and how many actors stay what they are, by the numbers of
  their behaviours.
  """
  @spec run(reference, String.t(), [listed], nil | fun_of_actors, (reference -> term)) ::
          {:ok, term, %{non_neg_integer => pos_integer}} | {:error, Error.t()}
  def run(native, path, behaviours, migrate, restore) do
    behaviours = List.to_tuple(for {behaviour, _, _} <- behaviours, do: behaviour)
    answered(put(native, path, restore), {native, path, behaviours, migrate}, nil, %{})
  end

  defp put(native, path, ask), do: Question.put(native, :infinity, [path: path], ask)

  defp answered({:ok, {:migrate, first, batch}}, {native, path, _, _} = job, last, stay) do
    # It comes with the first batch. Its end, or that of this process, ends the wait of the thread.
    link = first || last

    with {:ok, answers} <- answers(batch, job),
         {:ok, answer} <- give(native, path, link, {batch, answers}, job, []) do
      answered({:ok, answer}, job, link, counted(stay, batch, answers))
    else
      {:error, error} ->
        Native.image_abandon(link)
        {:error, error}
    end
  end

  defp answered({:ok, answer}, _job, _last, stay), do: {:ok, answer, stay}
  defp answered({:error, error}, _job, _last, _stay), do: {:error, error}

  defp counted(stay, batch, answers) do
    kept = for {{number, _}, :keep} <- Enum.zip(batch, answers), do: number
    Map.merge(stay, Enum.frequencies(kept), fn _, before, more -> before + more end)
  end

  # -- asking --------------------------------------------------------------------------------------------------

  defp answers(batch, job) do
    answers =
      Enum.reduce_while(batch, [], fn actor, answers ->
        case answer(actor, job) do
          {:error, error} -> {:halt, {:error, error}}
          answer -> {:cont, [answer | answers]}
        end
      end)

    with answers when is_list(answers) <- answers, do: {:ok, Enum.reverse(answers)}
  end

  defp answer({number, captures}, {_, _, behaviours, migrate} = job) do
    {module, name, _} = elem(behaviours, number)

    case migrate.({module, name, captures}) do
      :keep ->
        :keep

      %Behaviour{module: module, name: name, version: version, captures: captures}
      when is_atom(module) and is_atom(name) and is_integer(version) and is_tuple(captures) ->
        {module, name, version, captures}

      other ->
        limited = inspect(other, limit: 10, printable_limit: 200)

        text =
          "returned #{limited}, and not a behaviour with its captures, as a call of its name in its module makes it, nor :keep"

        refused(number, captures, text, job)
    end
  catch
    kind, reason ->
      text = "failed: #{Exception.format_banner(kind, reason, __STACKTRACE__)}#{place(__STACKTRACE__)}"
      refused(number, captures, text, job)
  end

  defp place([{module, _, _, _} = entry | _]) when module != __MODULE__,
    do: " in #{Exception.format_stacktrace_entry(entry)}"

  defp place(_), do: ""

  # -- giving --------------------------------------------------------------------------------------------------

  # A behaviour of a module that the machine has not, or not in this version, has its code loaded first.
  defp give(native, path, link, {batch, answers}, job, loaded) do
    kept = Long.kept(answers)

    case put(native, path, &Native.image_migrated(native, link, answers, kept, &1)) do
      {:ok, {:load, position}} ->
        {module, _, _, _} = next = Enum.at(answers, position)
        was = Enum.at(batch, position)

        with false <- module in loaded,
             :ok <- Loader.load(native, module) do
          give(native, path, link, {batch, answers}, job, [module | loaded])
        else
          true -> refused(was, "returned " <> unknown(next), job)
          {:error, error} -> refused(was, "returned a behaviour of #{inspect(module)}: #{error.message}", job)
        end

      {:ok, {word, position}} when is_atom(word) and is_integer(position) ->
        {:error, Error.from(word, path: path, behaviour: behaviour(Enum.at(batch, position), job))}

      other ->
        other
    end
  end

  defp unknown({module, name, version, captures}) do
    what = "#{inspect(module)}.#{name}/#{tuple_size(captures)}"

    case Loader.about(module, [:hash]) do
      {:ok, [^version]} -> "#{what}, and there is no such behaviour"
      _ -> "#{what} of another version of the module than the one that is loaded"
    end
  end

  defp refused({number, captures}, text, job), do: refused(number, captures, text, job)

  defp refused(number, captures, text, {_, path, _, _} = job) do
    {module, name, n} = behaviour = behaviour({number, captures}, job)
    text = "#{path}: for an actor that is #{inspect(module)}.#{name}/#{n} :migrate #{text}"
    {:error, Error.new(:image, text, path: path, behaviour: behaviour)}
  end

  # What an actor has stashed is a capture, but not one that anybody has written.
  defp behaviour({number, captures}, {_, _, behaviours, _}) do
    {module, name, _} = elem(behaviours, number)
    {module, name, tuple_size(captures)}
  end
end
