defmodule Mote.Bench.Stateright do
  # The model checker Stateright (bench/stateright), which proofs are compared with. Built where there is cargo and what it depends on.
  @moduledoc false

  @project Path.expand("../../../stateright", __DIR__)
  @name "mote_stateright"

  @doc "Builds it with optimisation. An error is a phrase that says why it cannot be had."
  @spec build() :: :ok | {:error, String.t()}
  def build do
    with {:cargo, cargo} when cargo != nil <- {:cargo, System.find_executable("cargo")},
         args = ~w(build --release --locked --quiet --target-dir) ++ [target()],
         {:built, {_, 0}} <- {:built, System.cmd(cargo, args, cd: @project, stderr_to_stdout: true)} do
      :ok
    else
      {:cargo, nil} -> {:error, "cargo is not installed"}
      {:built, {output, _}} -> {:error, "cargo could not build it:\n" <> output}
    end
  end

  @doc "The states a second of two-phase commit with so many resource managers, on one thread; and how many states there are."
  @spec commit(pos_integer) :: {float, pos_integer}
  def commit(n) do
    {output, 0} = System.cmd(Path.join([target(), "release", @name]), ["#{n}"], stderr_to_stdout: true)
    [ns, states, _generated] = output |> String.split() |> Enum.map(&String.to_integer/1)
    {states / ns * 1.0e9, states}
  end

  defp target, do: Path.join(@project, "target")
end
