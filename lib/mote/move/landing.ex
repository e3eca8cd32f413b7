defmodule Mote.Move.Landing do
  # Makes actors again that have left a machine of another node. The modules here may be of another version than there, as when a release
  # replaces one node after the other.
  #
  # 1. An actor becomes what would follow it in its own machine if this node's version were loaded there
  #    (native/mote_vm/src/code/program/succession.rs): the behaviour of its name with as many captures, if both of them stash or neither
  #    does, or a change from it.
  # 2. Whether a behaviour stashes is known only to a node that has its version. So the node that it leaves says so (`stashing/1`), and
  #    where that one has another version by now, only the same version as the actor's takes it in.
  @moduledoc false

  alias Mote.{Address, Behaviour, Machine}
  alias Mote.Behaviour.Changes
  alias Mote.Machine.Loader

  @typedoc "Module, name, number of captures, the stash among them, and version."
  @type kind :: {module, atom, non_neg_integer, non_neg_integer}

  @doc "Returns which of the behaviours of actors that leave stash, as far as this node knows their version."
  @spec stashing([Behaviour.t()]) :: %{kind => boolean}
  def stashing(behaviours) do
    kinds = for behaviour <- behaviours, uniq: true, do: kind(behaviour)

    for {module, name, n, version} = kind <- kinds,
        {:ok, [^version, stashing]} <- [Loader.about(module, [:hash, :stashing])],
        into: %{},
        do: {kind, {name, n} in stashing}
  end

  @doc "Creates the actors on a machine of this node, by its versions of their modules. Raises as `Mote.create_many/3` does."
  @spec land(Machine.t(), [Behaviour.t()], %{kind => boolean}, sponsor: atom) :: [Address.t()]
  def land(machine, behaviours, stashing, opts) do
    here = Map.new(stashing, fn {kind, stashes?} -> {kind, follower(kind, stashes?)} end)

    behaviours =
      for behaviour <- behaviours do
        {name, version} = Map.get(here, kind(behaviour), {behaviour.name, behaviour.version})
        %{behaviour | name: name, version: version}
      end

    Mote.create_many(machine, behaviours, opts)
  end

  defp kind(%{module: module, name: name, version: version, captures: captures}),
    do: {module, name, tuple_size(captures), version}

  # Where nothing follows, that is left to the machine to say.
  defp follower({module, name, n, version}, stashes?) do
    with {:ok, [hash | names]} when hash != version <-
           Loader.about(module, [:hash, :behaviours, :stashing, :changes]) do
      [behaviours, stashing, changes] = names
      change = Changes.from(name, stashes?)

      cond do
        {name, n} in behaviours and {name, n} in stashing == stashes? -> {name, hash}
        {change, n} in changes -> {change, hash}
        true -> {name, version}
      end
    else
      _same_or_absent -> {name, version}
    end
  end
end
