defmodule Mote.Bench.Rust do
  # The programs of native/mote_baseline: what some bench programs are compared with. Builds the executables, where
  # there is cargo, and runs them: every sample is an OS process of its own, which takes its time itself. Whatever needs
  # crates that Mote does without is a project of its own, built only when it is asked for.
  @moduledoc false

  @native Path.expand("../../../../native", __DIR__)
  @crate "mote_baseline"
  @projects %{
    @crate => @native,
    "tokio_echo" => Path.expand("../../../tokio", __DIR__),
    "mote_stateright" => Path.expand("../../../stateright", __DIR__)
  }

  @doc "Builds a crate with optimisation. An error is a phrase that says why it cannot be had."
  @spec build(String.t()) :: :ok | {:error, String.t()}
  def build(crate \\ @crate) do
    with {:cargo, cargo} when cargo != nil <- {:cargo, System.find_executable("cargo")},
         args = ~w(build --release --locked --quiet --package #{crate} --target-dir) ++ [target()],
         {:built, {_, 0}} <- {:built, System.cmd(cargo, args, cd: @projects[crate], stderr_to_stdout: true)} do
      :ok
    else
      {:cargo, nil} -> {:error, "cargo is not installed"}
      {:built, {output, _}} -> {:error, "cargo could not build it:\n" <> output}
    end
  end

  @doc """
  Nanoseconds by the clock, those of CPU time, and the result of a program. If it is repeated, one more run goes ahead, and
  the times are the medians.

  Raises `RuntimeError` when it fails.
  """
  @spec run(String.t(), pos_integer, pos_integer) :: {ns :: float, cpu_ns :: float, result :: float}
  def run(program, size, repeats) do
    case System.cmd(executable(@crate), [program, "#{size}", "#{repeats}"], stderr_to_stdout: true) do
      {output, 0} ->
        [_ns, _cpu_ns, _result] = figures = String.split(output)
        figures |> Enum.map(&String.to_float/1) |> List.to_tuple()

      {output, status} ->
        raise "#{@crate} #{program} #{size} ended with status #{status}: #{output}"
    end
  end

  @doc "The path of an executable that was built."
  @spec executable(String.t()) :: Path.t()
  def executable(name), do: Path.join([target(), "release", name])

  # Where the library of the machine is built, too, so that an option or a directory of the user's is kept to.
  defp target, do: Path.expand(System.get_env("CARGO_TARGET_DIR", "target"), @native)
end
