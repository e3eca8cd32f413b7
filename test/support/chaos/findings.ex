defmodule Mote.Chaos.Findings do
  @moduledoc """
  What a run has found, in a file that outlives the process: the check that failed, and what was seen.

  One finding ends the run: what comes after it may be its consequence.
  """

  @exit 3

  @doc "Where findings of this run go."
  def open(path), do: :persistent_term.put(__MODULE__, path)

  @doc "Tells of a finding, and ends this operating system process."
  @spec found(atom, term) :: no_return
  def found(check, seen) do
    text = inspect(seen, limit: 60, printable_limit: 2_000, pretty: true, width: 110)
    # Whoever is first tells.
    if :global.trans({__MODULE__, self()}, fn -> tell(check, text) end, [node()]), do: System.halt(@exit)
    Process.sleep(:infinity)
  end

  defp tell(check, text) do
    path = :persistent_term.get(__MODULE__)

    unless File.exists?(path) do
      IO.puts("\nFOUND #{check}: #{text}")
      File.write!(path, :erlang.term_to_binary({check, text}))
    end
  end

  @doc "The exit status of a process that has found something."
  def exit_status, do: @exit

  @doc "What is in a file of findings: `{check, text}`, or nil."
  def read(path) do
    with {:ok, binary} <- File.read(path), do: :erlang.binary_to_term(binary), else: (_ -> nil)
  end
end
