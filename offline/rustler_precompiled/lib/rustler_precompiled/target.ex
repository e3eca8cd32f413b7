defmodule RustlerPrecompiled.Target do
  # Names of computers: from what the BEAM says to what Rust says.
  @moduledoc false

  @defaults ~w(
    aarch64-apple-darwin
    aarch64-unknown-linux-gnu
    aarch64-unknown-linux-musl
    arm-unknown-linux-gnueabihf
    riscv64gc-unknown-linux-gnu
    x86_64-apple-darwin
    x86_64-pc-windows-gnu
    x86_64-pc-windows-msvc
    x86_64-unknown-linux-gnu
    x86_64-unknown-linux-musl
  )

  @nif_versions ~w(2.14 2.15 2.16 2.17)

  # Who packaged the BEAM is in the place of the vendor.
  @packagers ~w(pc redhat suse alpine)

  @doc "What there are archives of, unless `:targets` says otherwise."
  def defaults, do: @defaults

  @doc "All versions of the interface that there are archives of."
  def nif_versions, do: @nif_versions

  @doc "This computer, as the BEAM was built for it, and the NIF version of the BEAM."
  @spec here :: {String.t(), String.t()}
  def here do
    {to_string(:erlang.system_info(:system_architecture)), to_string(:erlang.system_info(:nif_version))}
  end

  @doc "The part of an archive's name that says what it is for."
  @spec name({String.t(), String.t()}, [String.t()], [String.t()]) :: {:ok, String.t()} | {:error, String.t()}
  def name({architecture, nif_version}, targets, nif_versions) do
    target = rust(architecture)
    fitting = nif_versions |> Enum.filter(&fits?(&1, nif_version)) |> Enum.max_by(&numbers/1, fn -> nil end)

    cond do
      target not in targets -> {:error, "there is no precompiled NIF for the target #{inspect(target)}"}
      fitting == nil -> {:error, "there is no precompiled NIF for the NIF version #{inspect(nif_version)}"}
      true -> {:ok, "nif-#{fitting}-#{target}"}
    end
  end

  # A library for an older version of the interface is loaded by a newer BEAM.
  defp fits?(version, current) do
    [major, minor] = numbers(version)
    [of, at_most] = numbers(current)
    major == of and minor <= at_most
  end

  defp numbers(version), do: version |> String.split(".") |> Enum.map(&String.to_integer/1)

  defp rust(architecture) do
    case String.split(architecture, "-", parts: 4) do
      [cpu, vendor, "linux" | abi] -> Enum.join([cpu(cpu), vendor(vendor), "linux" | abi], "-")
      [cpu, vendor, "darwin" <> _] -> Enum.join([mac(cpu), vendor, "darwin"], "-")
      _ -> architecture
    end
  end

  defp cpu("amd64"), do: "x86_64"
  defp cpu("riscv64"), do: "riscv64gc"
  defp cpu(cpu), do: cpu

  defp mac("arm"), do: "aarch64"
  defp mac(cpu), do: cpu

  defp vendor(vendor), do: if(vendor in @packagers, do: "unknown", else: vendor)
end
