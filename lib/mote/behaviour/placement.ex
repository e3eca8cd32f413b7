defmodule Mote.Behaviour.Placement do
  # A behaviour marked `beam: true` lives in beam sponsors, from birth: creating or becoming one elsewhere is
  # a mistake, found here if that behaviour is in this module or in one that is compiled already. Otherwise
  # the machine finds it (native/mote_vm/src/threads/away.rs).
  @moduledoc false

  alias Mote.Behaviour.{AST, Error}

  @doc "Raises if a behaviour of the language creates or becomes one where its turns could not run."
  @spec unit(map, Macro.Env.t()) :: :ok
  def unit(unit, env) do
    own = for code <- unit.codes, code.beam, do: {code.name, code.arity}

    for code <- unit.codes, not code.beam, {line, text} <- mistakes(code.body, own) do
      Error.raise_at(env, line, text)
    end

    :ok
  end

  defp mistakes(node, own) do
    here =
      case node do
        {:create, line, behaviour, _, nil} -> told(behaviour, own, line, &created/1)
        {:become, line, behaviour, _} -> told(behaviour, own, line, &become/1)
        _ -> []
      end

    here ++ Enum.flat_map(AST.children(node), &mistakes(&1, own))
  end

  defp told({module, name, arity}, own, line, text) do
    if {name, arity} in if(module, do: of(module), else: own), do: [{line, text.(name)}], else: []
  end

  defp told(_sink, _own, _line, _text), do: []

  defp of(module) do
    if Code.ensure_loaded?(module) and function_exported?(module, :__mote__, 1),
      do: module.__mote__(:beam),
      else: []
  end

  defp created(name) do
    "#{name} is marked beam: true and lives in a beam sponsor: create it there, with create #{name}(…), sponsor: name"
  end

  defp become(name) do
    "#{name} is marked beam: true: only an actor that was created as such a behaviour can become it, since it is pinned to a " <>
      "beam sponsor; create another actor, with create #{name}(…), sponsor: name"
  end
end
