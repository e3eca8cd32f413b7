defmodule Mote.Bench.Files do
  # How many files an OS process may have open at once. What this one starts may have more than itself, if the system
  # permits it: the shell raises the limit, and becomes the program.
  @moduledoc false

  alias Mote.Bench.Run

  # What is open besides those that are counted.
  @others 200
  @raise "ulimit -n \"$1\"; shift; exec \"$@\""

  @doc """
  How `:peer` starts a node with so many files: nothing to say about few.

  Raises `Mote.Bench.Run.Error`, which says what to raise, if the system does not permit as many.
  """
  @spec exec(non_neg_integer) :: %{optional(:exec) => {charlist, [charlist]}}
  def exec(0), do: %{}

  def exec(count) do
    limit = "#{count + @others}"

    unless permitted?(limit) do
      {hard, 0} = System.cmd("sh", ["-c", "ulimit -Hn"])

      raise Run.Error,
        message:
          "this needs #{limit} files that are open at once, and #{String.trim(hard)} are permitted: take a smaller --n, or " <>
            "raise the hard limit (`ulimit -Hn #{limit}` as root, `nofile` in /etc/security/limits.conf, LimitNOFILE of a service)"
    end

    args = ["-c", @raise, "sh", limit, System.find_executable("erl")]
    %{exec: {to_charlist(System.find_executable("sh")), Enum.map(args, &to_charlist/1)}}
  end

  defp permitted?(limit) do
    {_, status} = System.cmd("sh", ["-c", "ulimit -n \"$1\"", "sh", limit], stderr_to_stdout: true)
    status == 0
  end
end
